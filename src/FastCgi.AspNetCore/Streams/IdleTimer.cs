namespace FastCgi.AspNetCore.Streams;

/// <summary>Calls back once, after the time of <c>IdleExit</c> without a request.</summary>
/// <param name="getOtherUse">Gets whether another server is in use, and how many requests it has received.</param>
internal sealed class IdleTimer(
    ServerClock time, TimeSpan limit, Action onIdle, Func<(bool IsUsed, long Count)>? getOtherUse)
{
    private long _lastUse = time.GetTimestamp();
    private long _seenRequests;
    private bool _isOver;

    /// <summary>Called at every tick.</summary>
    /// <param name="since">The time of the tick before.</param>
    public void Check(bool isUsed, long requestCount, long since, long now)
    {
        if (_isOver)
            return;

        var other = getOtherUse?.Invoke() ?? default;
        requestCount += other.Count;
        if (isUsed || other.IsUsed)
            _lastUse = now;
        else if (requestCount != _seenRequests)
            _lastUse = since;
        _seenRequests = requestCount;
        if (time.GetElapsedTime(_lastUse, now) < limit)
            return;

        onIdle();
        _isOver = true;
    }
}
