using System.Text;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Tests.Harness;

/// <summary>A command that runs in this process, and what it has written.</summary>
internal sealed class ToolRun : IDisposable
{
    private readonly CancellationTokenSource _cancellation = new();
    private readonly StringWriter _outText = new();
    private readonly StringWriter _errorText = new();
    private readonly TextWriter _out;
    private readonly TextWriter _error;
    private readonly MemoryStream _body = new();
    private readonly Task<int> _running;

    private ToolRun(string[] arguments)
    {
        (_out, _error) = (TextWriter.Synchronized(_outText), TextWriter.Synchronized(_errorText));
        _running = Task.Run(
            () => FastCgiCommand.RunAsync(arguments, new ToolConsole(_out, _error, _body), _cancellation.Token));
    }

    public string Out => Read(_out, _outText);

    public string Error => Read(_error, _errorText);

    /// <summary>Runs a command to its end.</summary>
    public static async Task<(int Code, string Out, string Error)> RunAsync(params string[] arguments)
    {
        using var run = Start(arguments);
        var code = await run.WaitAsync();
        return (code, run.Out + Encoding.UTF8.GetString(run._body.ToArray()), run.Error);
    }

    public static ToolRun Start(params string[] arguments) => new(arguments);

    public Task<int> WaitAsync() => _running.Within("the command to end");

    /// <summary>Ctrl-C.</summary>
    public async Task<int> StopAsync()
    {
        await _cancellation.CancelAsync();
        return await WaitAsync();
    }

    /// <summary>Waits for a text on standard error.</summary>
    public Task UntilErrorHasAsync(string text)
        => Waiting.UntilAsync(
            () => Task.FromResult(Error.Contains(text)),
            () => _running.IsCompleted ? $"The command has ended: {Out}{Error}" : null,
            $"'{text}'");

    public Task UntilOutHasAsync(string text)
        => Waiting.UntilAsync(() => Out.Contains(text), $"'{text}'");

    public void Dispose()
    {
        _cancellation.Cancel();
        _cancellation.Dispose();
        _body.Dispose();
    }

    // A synchronized writer locks itself.
    private static string Read(TextWriter writer, StringWriter text)
    {
        lock (writer)
            return text.ToString();
    }
}
