using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Tests;

/// <summary>
/// SIGTERM to this process, which would end it if no command handled the signal. SIGINT is ignored in the background of
/// a shell.
/// </summary>
/// <remarks>It would also stop the servers that other tests have started in this process.</remarks>
[Collection(nameof(InterruptionTests))]
[CollectionDefinition(nameof(InterruptionTests), DisableParallelization = true)]
public sealed class InterruptionTests
{
    [Fact]
    public async Task Signal_BeforeTheFirstWait_ReachesTheCommand()
    {
        var code = await Interruption.RunAsync(token =>
        {
            SendTerm();
            return Task.FromResult(token.WaitHandle.WaitOne(Waiting.Patience) ? 7 : 8);
        });

        Assert.Equal(7, code);
    }

    [Fact]
    public async Task Signal_CommandDoesNotEnd_EndsWithItsCode()
    {
        var never = new TaskCompletionSource<int>();

        var code = await Interruption.RunAsync(
            _ =>
            {
                SendTerm();
                return never.Task;
            },
            timeout: TimeSpan.FromMilliseconds(1)).Within("the end");

        Assert.Equal(128 + 15, code);
    }

    [Fact]
    public async Task Command_Fails_ThrowsItsException()
        => await Assert.ThrowsAsync<NotSupportedException>(
            () => Interruption.RunAsync(static _ => throw new NotSupportedException()));

    [Fact]
    public async Task StandardError_Stalled_BlocksNothing()
    {
        await using var server = new System.IO.Pipes.AnonymousPipeServerStream(System.IO.Pipes.PipeDirection.Out);
        var writer = new StreamWriter(server) { AutoFlush = true };
        var console = new ToolConsole(TextWriter.Null, writer, Stream.Null);
        for (var i = 0; i < 5_000; i++)
            console.Say(new string('x', 100));

        await console.EndAsync(new CancellationToken(canceled: true)).Within("the end");
        server.DisposeLocalCopyOfClientHandle();
    }

    private static void SendTerm() => Signal.Send(Environment.ProcessId, "TERM");
}
