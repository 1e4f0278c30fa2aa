namespace FastCgi.Tool.Terminal;

/// <summary>Handles Ctrl-C and SIGTERM: the first one cancels the command, the second one ends the process.</summary>
internal static class Interruption
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(2);

    /// <returns>The exit code, or that of a killed process if the command does not end in time.</returns>
    public static async Task<int> RunAsync(Func<CancellationToken, Task<int>> command, TimeSpan? timeout = null)
    {
        using var interrupted = new CancellationTokenSource();
        var overdue = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => OnSignal(context, 130));
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => OnSignal(context, 143));
        // On another thread: a command may block on its input.
        return await await Task.WhenAny(Task.Run(() => command(interrupted.Token)), overdue.Task);

        void OnSignal(PosixSignalContext context, int exitCode)
        {
            if (interrupted.IsCancellationRequested)
                return;

            context.Cancel = true;
            _ = Task.Delay(timeout ?? s_timeout)
                .ContinueWith(_ => overdue.TrySetResult(exitCode), TaskScheduler.Default);
            interrupted.Cancel();
        }
    }
}
