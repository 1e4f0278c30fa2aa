using FastCgi.AspNetCore.Benchmarks;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging.Abstractions;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

public sealed class RequestPoolTests
{
    // As many objects rest before the first of them is used again.
    private const int Resting = 8;

    [Fact]
    public void Rent_TheOneThatHasRestedLongest()
    {
        var pool = new TestPool(loopCount: 1);
        var requests = Enumerable.Range(0, Resting + 2).Select(_ => pool.Rent(loop: 0)).ToArray();
        Array.ForEach(requests, request => pool.Return(request, loop: 0));

        Assert.Same(requests[0], pool.Rent(loop: 0));
        Assert.Same(requests[1], pool.Rent(loop: 0));
        Assert.DoesNotContain(pool.Rent(loop: 0), requests, ReferenceEqualityComparer.Instance);
    }

    [Fact]
    public void Rent_EachLoop_ItsOwn()
    {
        var pool = new TestPool(loopCount: 2);
        var first = Fill(pool, loop: 0, Resting + 1);
        var second = Fill(pool, loop: 1, Resting + 2);

        Assert.Same(second[0], pool.Rent(loop: 1));
        Assert.Same(second[1], pool.Rent(loop: 1));
        Assert.Same(first[0], pool.Rent(loop: 0));
        Assert.DoesNotContain(pool.Rent(loop: 0), first.Concat(second), ReferenceEqualityComparer.Instance);
    }

    [Fact]
    public void Rent_VeryManyLoops_ShareThem()
    {
        var pool = new TestPool(loopCount: int.MaxValue);
        var requests = Fill(pool, loop: 0, Resting + 1);

        Assert.Same(requests[0], pool.Rent(loop: 64));
    }

    [Fact]
    public void Return_MoreThanRest_AreDropped()
    {
        const int MaxResting = 1_024;
        var pool = new TestPool(loopCount: 1);
        Fill(pool, loop: 0, MaxResting + 100);
        pool.Created = 0;

        for (var i = 0; i < MaxResting; i++)
            pool.Rent(loop: 0);

        // Some go on resting.
        Assert.Equal(Resting, pool.Created);
    }

    private static FastCgiRequest[] Fill(TestPool pool, int loop, int count)
    {
        var requests = Enumerable.Range(0, count).Select(_ => pool.CreateOne()).ToArray();
        Array.ForEach(requests, request => pool.Return(request, loop));
        return requests;
    }

    private sealed class TestPool(int loopCount) : RequestPool(loopCount)
    {
        private readonly BenchmarkApplication _application = new();
        private readonly ServerContext _server =
            ServerContext.Create(new FastCgiServerOptions(), new BenchmarkApplication(), NullLogger.Instance, TimeProvider.System);

        public int Created { get; set; }

        public FastCgiRequest CreateOne() => Create();

        protected override FastCgiRequest Create()
        {
            Created++;
            return new FastCgiRequest<IFeatureCollection>(_server, _application);
        }
    }
}
