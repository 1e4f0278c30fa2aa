using System.Runtime.InteropServices;

namespace FastCgi.Tool.Terminal;

/// <summary>
/// Handles Ctrl-C and SIGTERM from before a command begins to its end. The first one cancels the command, the second one ends the process.
/// System.CommandLine handles them only after the first await of a command.
/// </summary>
internal static class Interruption
{
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(2);

    /// <summary>Runs a command.</summary>
    /// <param name="command">The command.</param>
    /// <param name="patience">How long it may take to end.</param>
    /// <returns>Its exit code, or that of a killed process if it does not end in time.</returns>
    public static async Task<int> RunAsync(Func<CancellationToken, Task<int>> command, TimeSpan? patience = null)
    {
        using var interrupted = new CancellationTokenSource();
        var overdue = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => OnSignal(context, exitCode: 130));
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => OnSignal(context, exitCode: 143));
        // On another thread: a command may block on its input.
        return await await Task.WhenAny(Task.Run(() => command(interrupted.Token)), overdue.Task);

        void OnSignal(PosixSignalContext context, int exitCode)
        {
            if (interrupted.IsCancellationRequested)
                return;

            context.Cancel = true;
            _ = Task.Delay(patience ?? s_patience).ContinueWith(_ => overdue.TrySetResult(exitCode), TaskScheduler.Default);
            interrupted.Cancel();
        }
    }
}
