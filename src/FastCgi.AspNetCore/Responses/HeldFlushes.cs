namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// Flushes that are likely to be the last of their responses, held back so that the end of the response goes with them: one send,
/// and one wake-up of the web server, instead of two. It is for handlers that came back from <c>await</c>, where nobody is told
/// when they yield; so flushes are only held while a thread looks after them every few milliseconds.
/// </summary>
/// <param name="wakeWatch">Asks for somebody to look after them, because there is enough to hold.</param>
internal sealed class HeldFlushes(Action wakeWatch)
{
    // Flushes that come less often do not pay for the looks.
    private const long MaxMillisecondsBetween = 2;

    private readonly Lock _lock = new();
    private List<ResponseOutput> _held = [];
    private List<ResponseOutput> _overdue = [];
    private long _lastTry;
    private bool _isWatched;

    /// <summary>Takes note of a response whose flush is to be held. Call it under the monitor of the response.</summary>
    /// <returns>Whether anybody looks after it.</returns>
    public bool TryHold(ResponseOutput response)
    {
        lock (_lock)
        {
            if (_isWatched)
            {
                _held.Add(response);
                return true;
            }
        }

        var now = Environment.TickCount64;
        if (now - Volatile.Read(ref _lastTry) <= MaxMillisecondsBetween)
            wakeWatch();
        Volatile.Write(ref _lastTry, now);
        return false;
    }

    /// <summary>Says whether <see cref="SendOverdue"/> is being called; who ends that calls it once more.</summary>
    public void SetWatched(bool isWatched)
    {
        lock (_lock)
            _isWatched = isWatched;
    }

    /// <summary>
    /// Sends what is still held. Most responses have ended since, and some may serve another request by now, which does no harm: to
    /// send early is always allowed. Called by one thread.
    /// </summary>
    /// <returns>The flushes that were held since the last call.</returns>
    public int SendOverdue()
    {
        lock (_lock)
            (_held, _overdue) = (_overdue, _held);

        foreach (var response in _overdue)
            response.SendHeldFlush();

        var count = _overdue.Count;
        _overdue.Clear();
        return count;
    }
}
