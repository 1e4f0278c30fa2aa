namespace FastCgi.AspNetCore.UnitTests.Transport;

public sealed class UseCountTests
{
    private UseCount _uses;

    [Theory, Values(0, 1, 2)]
    public void Close_WithUses_IsReleasedByTheCallerOrTheLastUse(int uses)
    {
        Assert.True(_uses.TryBegin());
        Assert.False(_uses.End());
        for (var i = 0; i < uses; i++)
            Assert.True(_uses.TryBegin());

        Assert.Equal(uses == 0, _uses.Close());
        Assert.False(_uses.TryBegin());
        for (var i = 1; i <= uses; i++)
            Assert.Equal(i == uses, _uses.End());
        Assert.False(_uses.Close());
    }

    [Theory, Values(true, false)]
    public void End_WithoutAUse_IsAViolation(bool isClosed)
    {
        Assert.True(_uses.TryBegin());
        _uses.End();
        if (isClosed)
            _uses.Close();

        Assert.Throws<InvariantException>(() => _uses.End());
    }

    [Fact]
    public void Close_WhileThreadsUse_ReleasesOnceAfterAllUses()
    {
        for (var round = 0; round < 2_000; round++)
        {
            _uses = default;
            var released = 0;
            var users = 0;
            Parallel.For(0, 4, i =>
            {
                if (i == 0)
                {
                    if (_uses.Close())
                        Release();
                    return;
                }

                if (!_uses.TryBegin())
                    return;

                Interlocked.Increment(ref users);
                Interlocked.Decrement(ref users);
                if (_uses.End())
                    Release();
            });

            Assert.Equal(1, released);

            void Release()
            {
                Assert.Equal(0, Volatile.Read(ref users));
                Interlocked.Increment(ref released);
            }
        }
    }
}
