namespace FastCgi.AspNetCore.UnitTests.Execution;

public sealed class WorkQueueTests
{
    private readonly WorkQueue _queue = new();

    /// <summary>Long requests must not starve, and must not delay many brief ones.</summary>
    [Fact]
    public void TryDequeue_BriefAndLong_EachSeventeenthIsLong()
    {
        for (var i = 0; i < 40; i++)
            _queue.Enqueue(new WorkItem(IsLong: false));
        for (var i = 0; i < 3; i++)
            _queue.Enqueue(new WorkItem(IsLong: true));

        var order = string.Concat(Enumerable.Range(0, 43).Select(_ => Take()));

        Assert.Equal($"{new string('b', 16)}L{new string('b', 16)}L{new string('b', 8)}L", order);
        Assert.False(_queue.TryDequeue(out _));
    }

    private char Take()
    {
        Assert.True(_queue.TryDequeue(out var item));
        return item.IsLong ? 'L' : 'b';
    }
}
