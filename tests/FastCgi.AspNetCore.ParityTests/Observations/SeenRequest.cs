using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.ParityTests.Observations;

/// <summary>The application's observations of one request, and its actions.</summary>
internal sealed class SeenRequest
{
    private readonly ConcurrentQueue<string> _log = new();
    private readonly ConcurrentQueue<string> _events = new();
    private readonly TaskCompletionSource _aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _finished = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>The context at the start of the first middleware.</summary>
    public IReadOnlyList<ObservedValue> AtStart { get; set; } = [];

    /// <summary>The context after the other middleware had returned.</summary>
    public IReadOnlyList<ObservedValue> AtEnd { get; set; } = [];

    /// <summary>The callbacks and the unhandled exception, in order.</summary>
    public IEnumerable<string> Events => _events;

    /// <summary>The log lines of the request.</summary>
    public IEnumerable<string> Log => _log;

    /// <summary>Completes if the request is aborted, before or after its end.</summary>
    public Task Aborted => _aborted.Task;

    /// <summary>Completes when the server has returned the request to the host.</summary>
    public Task Finished => _finished.Task;

    public string TraceIdentifier { get; set; } = string.Empty;

    public string ConnectionId { get; set; } = string.Empty;

    public void AddEvent(string name) => _events.Enqueue(name);

    public void AddLog(string line) => _log.Enqueue(line);

    public void Abort() => _aborted.TrySetResult();

    public void Finish() => _finished.TrySetResult();
}
