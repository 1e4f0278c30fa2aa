using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// Flushes that are likely to be the last of their responses, held so that the end of the response goes with them: one send, and one
/// wake-up of the web server, instead of two. Flushes are only held while a thread uncorks them every few milliseconds.
/// </summary>
/// <param name="wakeWatch">Asks for somebody to uncork them, because there is enough to hold.</param>
internal sealed class HeldFlushes(Action wakeWatch) : CorkDeadlines
{
    // Flushes that come less often do not pay for the looks.
    private const long MaxMillisecondsBetween = 2;

    private readonly Lock _lock = new();
    private List<(ResponseOutput Response, int Generation)> _held = [];
    private List<(ResponseOutput Response, int Generation)> _overdue = [];
    private long _lastTry;
    private bool _isWatched;

    /// <inheritdoc/>
    public override bool TryAdd(ResponseOutput response, int generation)
    {
        lock (_lock)
        {
            if (_isWatched)
            {
                _held.Add((response, generation));
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

    /// <summary>Sends what is still held. Called by one thread.</summary>
    /// <returns>The flushes that were held since the last call.</returns>
    public int SendOverdue()
    {
        lock (_lock)
            (_held, _overdue) = (_overdue, _held);

        foreach (var (response, generation) in _overdue)
            response.Uncork(generation);

        var count = _overdue.Count;
        _overdue.Clear();
        return count;
    }
}
