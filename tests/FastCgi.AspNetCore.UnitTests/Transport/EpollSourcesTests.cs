namespace FastCgi.AspNetCore.UnitTests.Transport;

public sealed class EpollSourcesTests
{
    private readonly EpollSources _sources = new();

    /// <summary>Its number may be another's by then. That of one that was never added is that of the first: it is the wake-up of a loop.</summary>
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

    /// <summary>Each use of a number ends as the first does.</summary>
    [Fact]
    public void Remove_ManyWithOneNumber_EachIsForgotten()
    {
        for (var i = 0; i < 5; i++)
        {
            var source = Add();
            Assert.Equal(0u, (uint)source.Key);
            AssertAllFound([source]);

            _sources.Remove(source);

            Assert.Equal(0, _sources.Count);
            Assert.Null(_sources.Find(source.Key));
        }
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

    [Fact]
    public void Add_Many_EachIsFound()
    {
        var sources = Enumerable.Range(0, 1_000).Select(_ => Add()).ToList();

        AssertAllFound(sources);
        Assert.Equal(1_000, _sources.Count);
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
