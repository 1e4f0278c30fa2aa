namespace FastCgi.AspNetCore.Execution;

/// <summary>Work that waits for a thread. Brief requests come first, but not forever.</summary>
internal sealed class WorkQueue
{
    private const int MaxBriefInARow = 16;

    private readonly Queue<WorkItem> _brief = new();
    private readonly Queue<WorkItem> _long = new();
    private int _briefInARow;

    public int Count => _brief.Count + _long.Count;

    public void Enqueue(WorkItem item) => (item.IsLong ? _long : _brief).Enqueue(item);

    public bool TryDequeue(out WorkItem item)
    {
        var isBriefNext = _long.Count == 0 || _briefInARow < MaxBriefInARow;
        if (isBriefNext && _brief.TryDequeue(out item))
        {
            _briefInARow++;
            return true;
        }

        _briefInARow = 0;
        return _long.TryDequeue(out item);
    }
}
