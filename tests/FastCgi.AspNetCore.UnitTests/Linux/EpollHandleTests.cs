namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed unsafe class EpollHandleTests : IDisposable
{
    private readonly EpollHandle _epoll = new();
    private readonly EventHandle[] _events = [new(), new(), new()];

    public void Dispose()
    {
        _epoll.Dispose();
        foreach (var one in _events)
            one.Dispose();
    }

    /// <summary>One that could not be deleted before is still there.</summary>
    [Fact]
    public void Add_Twice_HasTheNewData()
    {
        Assert.True(_epoll.Add(_events[0].Descriptor, Libc.EpollIn, data: 1));
        Assert.True(_epoll.Add(_events[0].Descriptor, Libc.EpollIn, data: 2));
        _events[0].Signal();

        Assert.Equal([(Libc.EpollIn, 2ul)], Wait());
    }

    [Fact]
    public void AddOrModify_Refused_SaysWhy()
    {
        Assert.False(_epoll.Add(int.MaxValue, Libc.EpollIn, data: 1));
        Assert.Equal(9, Libc.LastError);
        Assert.False(_epoll.Modify(_events[0].Descriptor, Libc.EpollIn, data: 1));
    }

    [Fact]
    public void Wait_SeveralEvents_EachWithItsData()
    {
        for (var i = 0; i < _events.Length; i++)
        {
            Assert.True(_epoll.Add(_events[i].Descriptor, Libc.EpollIn, data: ulong.MaxValue - (ulong)i));
            _events[i].Signal();
        }

        Assert.Equal([ulong.MaxValue - 2, ulong.MaxValue - 1, ulong.MaxValue], Wait().Select(static one => one.Data).Order());
    }

    [Fact]
    public void Delete_NoEventAnyMore()
    {
        Assert.True(_epoll.Add(_events[0].Descriptor, Libc.EpollIn, data: 1));
        _events[0].Signal();

        Assert.True(_epoll.Delete(_events[0].Descriptor));

        Assert.Empty(Wait());
        Assert.False(_epoll.Delete(_events[0].Descriptor));
    }

    private List<(uint Events, ulong Data)> Wait()
    {
        const int Room = 8;
        var events = stackalloc EpollEvent[Room];
        var count = _epoll.Wait(events, Room, timeoutMilliseconds: 0);
        var all = new List<(uint Events, ulong Data)>();
        for (var i = 0; i < count; i++)
            all.Add((EpollEvent.At(events, i)->Events, EpollEvent.At(events, i)->Data));
        return all;
    }
}
