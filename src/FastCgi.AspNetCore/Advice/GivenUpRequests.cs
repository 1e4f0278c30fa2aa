namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// The last requests that the web server gave up before the application had answered. Clients that leave do so after any time; a time-out
/// ends requests of one age. Which web server's or client's time-out it is cannot be seen from here, but its length can.
/// </summary>
internal sealed class GivenUpRequests
{
    /// <summary>So many of one age are no chance.</summary>
    public const int MinCount = 3;

    // Web servers look at their time-outs once a second, some of them.
    private static readonly TimeSpan s_maxSpread = TimeSpan.FromSeconds(1.5);

    private readonly Lock _lock = new();
    private readonly (TimeSpan Age, string? WebServer)[] _last = new (TimeSpan, string?)[MinCount];
    private long _count;

    /// <summary>Counts a request.</summary>
    public void Add(TimeSpan age, string? webServer)
    {
        lock (_lock)
            _last[_count++ % MinCount] = (age, webServer);
    }

    /// <summary>Whether the last ones were of one age.</summary>
    /// <param name="seen">Those that were seen at the last look; afterwards, those until now.</param>
    /// <returns>The age and the web server; <see langword="null"/> if none has come since, or their ages differ.</returns>
    public (TimeSpan Age, string? WebServer)? FindTimeout(ref long seen)
    {
        lock (_lock)
        {
            var isNew = _count > seen;
            seen = _count;
            if (!isNew || _count < MinCount || _last.Max(static request => request.Age) - _last.Min(static request => request.Age) > s_maxSpread)
                return null;

            return _last.MinBy(static request => request.Age);
        }
    }
}
