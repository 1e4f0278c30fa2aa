using System.Runtime.InteropServices;

namespace FastCgi.Tool.Terminal;

/// <summary>
/// Ctrl-C and SIGTERM, from before a command begins to its end. The first one tells the command, which has some seconds to end; the second one
/// ends the process. System.CommandLine listens only when the command has come to its first wait, so that one that comes early ends the process.
/// </summary>
internal static class Interruption
{
    // More than the proxy needs, which lets the requests that run come to their ends.
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(8);

    /// <summary>Runs a command.</summary>
    /// <param name="command">The command, which is told by its token.</param>
    /// <param name="patience">How long it may take to end; eight seconds if nothing is said.</param>
    /// <returns>Its exit code, or, if it does not end in time, that of a shell for a process that was ended by the signal.</returns>
    public static async Task<int> RunAsync(Func<CancellationToken, Task<int>> command, TimeSpan? patience = null)
    {
        using var interrupted = new CancellationTokenSource();
        var overdue = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => OnSignal(context, exitCode: 130));
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => OnSignal(context, exitCode: 143));
        // On another thread: a command may wait for its input without coming back.
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
