using FastCgi.AspNetCore.Transport.Epoll;

namespace FastCgi.AspNetCore.UnitTests.Transport;

public sealed class UseCountTests
{
    private UseCount _uses;

    [Fact]
    public void Close_Unused_IsForTheCaller()
    {
        Assert.True(_uses.TryBegin());
        Assert.False(_uses.End());

        Assert.True(_uses.Close());
        Assert.False(_uses.TryBegin());
    }

    [Fact]
    public void Close_WhileUsed_IsForTheLastUse()
    {
        Assert.True(_uses.TryBegin());
        Assert.True(_uses.TryBegin());

        Assert.False(_uses.Close());
        Assert.False(_uses.TryBegin());
        Assert.False(_uses.End());
        Assert.True(_uses.End());
    }

    [Fact]
    public void Close_Twice_IsForOne()
    {
        Assert.True(_uses.Close());
        Assert.False(_uses.Close());
    }

    [Fact]
    public void Close_WhileThreadsUse_ReleasesOnceAndBehindAllUses()
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
