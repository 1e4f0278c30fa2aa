namespace FastCgi.AspNetCore.Advice;

/// <summary>Requests that got a 404 while all share their first segment: the path base may be missing.</summary>
internal sealed class UnmappedPaths
{
    private const int MinCount = 5;

    private readonly Lock _lock = new();
    private string? _segment;
    private int _count;
    private bool _isOver;

    public bool IsOver => Volatile.Read(ref _isOver);

    public void AddNotFound(string? path)
    {
        // Browsers request /favicon.ico regardless of the path of the application.
        if (IsOver || path is not ['/', ..] || path.IndexOf('/', 1) is not (> 0 and var end))
            return;

        using (_lock.Acquire())
        {
            _segment ??= path[..end];
            if (path.AsSpan(0, end).SequenceEqual(_segment))
                _count++;
            else
                End();
        }
    }

    public void End() => Volatile.Write(ref _isOver, true);

    /// <returns>The segment; <see langword="null"/> if a request was served, or there were few.</returns>
    public string? FindPathBase()
    {
        using (_lock.Acquire())
            return !_isOver && _count >= MinCount ? _segment : null;
    }
}
