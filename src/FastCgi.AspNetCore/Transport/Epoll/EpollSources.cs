namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// The sources of a loop by the number that stands in their events. A number is used again, and so says which use it is: an event
/// of a source that was removed meanwhile finds nothing.
/// </summary>
internal sealed class EpollSources
{
    private readonly Lock _lock = new();
    private Entry[] _entries = new Entry[64];
    private int _firstFree = -1;
    private int _used;

    /// <summary>The sources that are there.</summary>
    public int Count { get; private set; }

    /// <summary>Adds a source and gives it its key. Any thread may call it.</summary>
    public void Add(IEpollSource source)
    {
        lock (_lock)
        {
            int index;
            if (_firstFree >= 0)
            {
                index = _firstFree;
                _firstFree = _entries[index].NextFree;
            }
            else
            {
                if (_used == _entries.Length)
                {
                    var larger = new Entry[2 * _used];
                    Array.Copy(_entries, larger, _used);
                    Volatile.Write(ref _entries, larger);
                }

                index = _used++;
            }

            Count++;
            source.Key = ((ulong)_entries[index].Generation << 32) | (uint)index;
            _entries[index].Source = source;
        }
    }

    /// <summary>Removes a source. One that was never added, or is removed a second time, has no number of its own, and changes nothing.</summary>
    public void Remove(IEpollSource source)
    {
        lock (_lock)
        {
            var index = (int)(uint)source.Key;
            ref var entry = ref _entries[index];
            if (entry.Source != source)
                return;

            entry.Source = null;
            entry.Generation++;
            entry.NextFree = _firstFree;
            _firstFree = index;
            Count--;
        }
    }

    /// <summary>Finds the source of an event.</summary>
    public IEpollSource? Find(ulong key)
    {
        var entries = Volatile.Read(ref _entries);
        var index = (int)(uint)key;
        return entries[index].Source is { } source && source.Key == key ? source : null;
    }

    private struct Entry
    {
        public IEpollSource? Source;
        public uint Generation;
        public int NextFree;
    }
}
