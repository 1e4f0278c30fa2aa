namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>What a handler does with the thread that calls it.</summary>
internal enum HandlerBehavior
{
    Returns,
    Blocks,
    Awaits,
    Computes,

    /// <summary>Awaits before it writes, so that its first flush is likely to be the last.</summary>
    AwaitsFirst,
}

/// <summary>
/// The handler of one request: it writes two parts, flushes each, and does something after each flush.
/// </summary>
internal sealed class HandlerScript(VirtualMachine machine, char word, HandlerBehavior behavior)
{
    // Longer than the watchdog needs.
    private const int WaitingLooks = 8;
    private const int ComputingLooks = 4;

    private TaskCompletionSource? _answer;
    private int _awaitedAt;
    private int _flushedAt;
    private string _flushed = "";
    private int _contexts;
    private int _ends;

    public char Word => word;

    public HandlerBehavior Behavior => behavior;

    public bool IsComputing { get; private set; }

    public VirtualConnection Connection { get; set; } = null!;

    public bool HasBegun { get; private set; }

    /// <summary>The features of the request, while its handler runs.</summary>
    public IFeatureCollection? Features { get; private set; }

    public bool IsOver => _ends > 0;

    /// <summary>Whether the request never arrived, or was aborted before its handler was called.</summary>
    public bool IsDropped => !HasBegun && (Connection.IsClosed || IsAborted);

    public bool IsAborted { get; set; }

    public bool IsAwaiting => _answer is not null;

    /// <summary>Whether the handler's await takes as long as other handlers block.</summary>
    public bool IsAnswerLate => machine.Looks < _awaitedAt + WaitingLooks;

    public void EndAwait()
    {
        var answer = _answer!;
        _answer = null;
        answer.SetResult();
    }

    public void Abort()
    {
        IsAborted = true;
        Features!.Get<IHttpRequestLifetimeFeature>()!.Abort();
    }

    public void Begin(IFeatureCollection features)
    {
        _contexts++;
        Features = features;
    }

    public void End()
    {
        _ends++;
        Features = null;
    }

    public async Task RunAsync()
    {
        HasBegun = true;
        if (behavior == HandlerBehavior.AwaitsFirst)
            await WaitAsync();
        await WriteAsync("1");
        await WaitAsync();
        await WriteAsync("2");
        await WaitAsync();
        Features = null;
    }

    /// <summary>Flushed data must have been sent, unless the flush has only just happened.</summary>
    public void CheckFlushes(int maxLooks)
    {
        if (Features is null || _flushed.Length == 0 || Connection.IsClosed || Connection.IsSending || IsAborted
            || machine.Looks - _flushedAt < maxLooks)
            return;

        if (!Encoding.ASCII.GetString([.. Connection.Sent]).Contains(_flushed))
            throw new InvalidOperationException(
                $"{_flushed} was flushed at look {_flushedAt}, and is not sent at look {machine.Looks}.");
    }

    public void CheckEnd()
    {
        if (_contexts != _ends || _contexts > 1)
            throw new InvalidOperationException($"/{word} has begun {_contexts} times and ended {_ends} times.");
        if (_contexts == 0 && !Connection.IsClosed && !IsAborted)
            throw new InvalidOperationException($"/{word} has never begun.");
    }

    public void CheckAnswer(SentAnswer answer, bool mayBeAborted)
    {
        var text = Encoding.ASCII.GetString([.. answer.Stdout]);
        var body = text.Split("\r\n\r\n", 2).ElementAtOrDefault(1) ?? "";
        var whole = $"<{word}1><{word}2>";
        var isRight = answer.IsOver
            ? body == whole && answer.AppStatus == 0
            : Connection.IsCut && whole.StartsWith(body, StringComparison.Ordinal);
        if (!isRight && !(mayBeAborted && answer.IsOver && whole.StartsWith(body, StringComparison.Ordinal)))
            throw new InvalidOperationException(
                $"/{word} was answered with {body}, {answer.Ends} ends and the status {answer.AppStatus}.");
    }

    private Task WaitAsync()
    {
        switch (behavior)
        {
            case HandlerBehavior.Blocks:
                var until = machine.Looks + WaitingLooks;
                machine.Block(() => machine.Looks >= until);
                return Task.CompletedTask;
            case HandlerBehavior.Computes:
                IsComputing = true;
                machine.Compute(ComputingLooks);
                IsComputing = false;
                return Task.CompletedTask;
            case HandlerBehavior.Awaits or HandlerBehavior.AwaitsFirst:
                _awaitedAt = machine.Looks;
                _answer = new TaskCompletionSource();
                return _answer.Task;
            default:
                return Task.CompletedTask;
        }
    }

    private async Task WriteAsync(string part)
    {
        var text = $"<{word}{part}>";
        await Features!.Get<IHttpResponseBodyFeature>()!.Writer.WriteAsync(Encoding.ASCII.GetBytes(text));
        _flushedAt = machine.Looks;
        _flushed = text;
        machine.Point($"flushed {text}");
    }
}

internal sealed class ScriptedApplication : IHttpApplication<HandlerScript>
{
    public IReadOnlyList<HandlerScript> Scripts { get; set; } = [];

    public VirtualMachine Machine { get; set; } = null!;

    public HandlerScript CreateContext(IFeatureCollection contextFeatures)
    {
        var path = contextFeatures.Get<IHttpRequestFeature>()!.Path;
        var script = Scripts.Single(script => script.Word == path[^1]);
        script.Begin(contextFeatures);
        Machine.Point("call begins");
        return script;
    }

    public Task ProcessRequestAsync(HandlerScript context) => context.RunAsync();

    public void DisposeContext(HandlerScript context, Exception? exception)
    {
        context.End();
        Machine.Point("call ends");
    }
}
