namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// A listener, a connection, or a wake-up that a loop waits for. Its events are raised on the thread that runs the
/// loop.
/// </summary>
internal interface IEpollSource
{
    /// <summary>Identifies the source in its loop. Set by <see cref="EpollSources"/>.</summary>
    ulong Key { get; set; }

    void OnEvent(uint events);
}

/// <summary>Ends a loop's wait, so that it checks what was queued.</summary>
internal sealed class WakeUp : IEpollSource, IDisposable
{
    private readonly EventHandle _event = new();

    public int Descriptor => _event.Descriptor;
    public ulong Key { get; set; }

    /// <summary>Ends the wait. Harmless after the loop has ended, because a handler may outlive it.</summary>
    public void Call() => _event.Signal();

    public void OnEvent(uint events) => _event.Reset();

    public void Dispose() => _event.Dispose();
}

/// <summary>
/// The sources of a loop by the key in their events. It has a generation, so an event of a source that was removed
/// finds nothing.
/// </summary>
internal sealed class EpollSources
{
    private readonly Lock _lock = new();
    private Entry[] _entries = new Entry[64];
    private int _firstFree = -1;
    private int _used;

    public int Count { get; private set; }

    /// <summary>Adds a source and sets its key. Any thread may call it.</summary>
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
                    var larger = _entries;
                    Array.Resize(ref larger, 2 * _used);
                    Volatile.Write(ref _entries, larger);
                }

                index = _used++;
            }

            Count++;
            source.Key = ((ulong)_entries[index].Generation << 32) | (uint)index;
            _entries[index].Source = source;
        }
    }

    /// <summary>Removes a source. Does nothing if it was never added or is already removed.</summary>
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
