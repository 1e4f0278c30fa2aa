namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>What counts against the window of a body.</summary>
public sealed class RequestBodyTests
{
    private readonly BufferPool _pool = new();

    /// <summary>The awakened reader continues when its thread is free. Until then, the window must hold.</summary>
    [Fact]
    public async Task UnreadLength_WhileAReaderIsWokenUp_CountsWhatComes()
    {
        for (var i = 0; i < 200; i++)
        {
            var body = Begin(declaredLength: null);
            body.BeginRead(maxLength: null);
            var read = body.ReadAsync(CancellationToken.None).AsTask();

            body.Append(new byte[100]);
            Assert.Equal(100, body.UnreadLength);
            body.Append(new byte[50]);
            Assert.Equal(150, body.UnreadLength);

            var buffer = (await read).Buffer;
            body.AdvanceTo(buffer.Start, buffer.End, isRestHeld: true);
            Assert.Equal(150 - (int)buffer.Length, body.UnreadLength);
        }
    }

    [Fact]
    public async Task UnreadLength_ExaminedAndNotConsumed_DoesNotCount()
    {
        var body = Begin(declaredLength: null);
        body.Append(new byte[100]);
        body.BeginRead(maxLength: null);
        var buffer = (await body.ReadAsync(CancellationToken.None)).Buffer;

        body.AdvanceTo(buffer.GetPosition(10), buffer.GetPosition(60), isRestHeld: true);

        Assert.Equal(40, body.UnreadLength);
    }

    /// <summary>A read that began and ended between two samples was a wait too.</summary>
    [Fact]
    public void Rate_ReadsBetweenTheSamples_Count()
    {
        var body = Begin(declaredLength: null);
        var time = new FakeClock();
        var rate = new BodyRate(100, TimeSpan.FromSeconds(2));
        var missed = Enumerable.Range(1, 3).Select(_ =>
        {
            body.Time(rate, time.GetTimestamp());
            time.Advance(TimeSpan.FromSeconds(1));
            return body.FindRateMissed(time, time.GetTimestamp(), isPaused: false) is not null;
        }).ToList();

        Assert.Equal([false, false, true], missed);
    }

    private RequestBody Begin(long? declaredLength) => new(
        new BodyMemory(_pool),
        declaredLength,
        static (error, limit)
            => new BadHttpRequestException($"{error} {limit}", error == BodyError.TooLarge ? 413 : 400));
}
