namespace FastCgi.AspNetCore.UnitTests.Transport;

public sealed class EpollSourcesTests
{
    private readonly EpollSources _sources = new();

    /// <summary>
    /// Its number may be another's by then. That of one that was never added is that of the first: it is the wake-up of
    /// a loop.
    /// </summary>
    [Fact]
    public void Remove_WhatIsNotThere_ChangesNothing()
    {
        var removed = Add();
        _sources.Remove(removed);
        _sources.Remove(removed);
        Assert.Equal(0, _sources.Count);

        var first = Add();
        _sources.Remove(removed);
        _sources.Remove(new Source());

        Assert.Equal(1, _sources.Count);
        AssertAllFound([first, Add(), Add()]);
    }

    [Fact]
    public void Find_EventOfARemovedSource_Nothing()
    {
        var removed = Add();
        var key = removed.Key;
        _sources.Remove(removed);
        var next = Add();

        Assert.Equal((uint)key, (uint)next.Key);
        Assert.Null(_sources.Find(key));
    }

    private Source Add()
    {
        var source = new Source();
        _sources.Add(source);
        return source;
    }

    private void AssertAllFound(List<Source> sources)
    {
        Assert.Equal(sources.Count, sources.Select(static source => source.Key).Distinct().Count());
        Assert.All(sources, source => Assert.Same(source, _sources.Find(source.Key)));
    }

    private sealed class Source : IEpollSource
    {
        public ulong Key { get; set; }

        public void OnEvent(uint events)
        {
        }
    }
}
