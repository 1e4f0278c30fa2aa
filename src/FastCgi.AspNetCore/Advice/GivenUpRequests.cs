namespace FastCgi.AspNetCore.Advice;

/// <summary>The last requests aborted without a response. Those that a timeout ended have the same age.</summary>
internal sealed class GivenUpRequests
{
    /// <summary>This many requests of the same age are no coincidence.</summary>
    public const int MinCount = 3;

    // Some web servers check timeouts once a second.
    private static readonly TimeSpan s_maxSpread = TimeSpan.FromSeconds(1.5);

    private readonly Lock _lock = new();
    private readonly (TimeSpan Age, string? WebServer)[] _last = new (TimeSpan, string?)[MinCount];
    private long _count;

    public void Add(TimeSpan age, string? webServer)
    {
        using (_lock.Acquire())
            _last[_count++ % MinCount] = (age, webServer);
    }

    /// <param name="seen">The number of requests at the previous call; updated.</param>
    /// <returns><see langword="null"/> if nothing is new, or the ages differ.</returns>
    public (TimeSpan Age, string? WebServer)? FindTimeout(ref long seen)
    {
        using (_lock.Acquire())
        {
            var isNew = _count > seen;
            seen = _count;
            if (!isNew || _count < MinCount
                || _last.Max(static request => request.Age) - _last.Min(static request => request.Age) > s_maxSpread)
                return null;

            return _last.MinBy(static request => request.Age);
        }
    }
}
