namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>What counts against the window of a body.</summary>
public sealed class RequestBodyTests
{
    private readonly BufferPool _pool = new();

    /// <summary>
    /// The awakened reader continues when its thread is free. Until then, the window must hold, except for the byte
    /// that it awaits.
    /// </summary>
    [Fact]
    public async Task UnreadLength_WhileAReaderIsWokenUp_CountsWhatComes()
    {
        for (var i = 0; i < 200; i++)
        {
            var body = Begin(declaredLength: null);
            body.BeginRead(maxLength: null);
            var read = body.ReadAsync(CancellationToken.None).AsTask();

            body.Append(new byte[100]);
            Assert.InRange(body.UnreadLength, 99, 100);
            body.Append(new byte[50]);
            Assert.InRange(body.UnreadLength, 149, 150);

            var buffer = (await read).Buffer;
            body.AdvanceTo(buffer.Start, buffer.End);
            Assert.Equal(150 - (int)buffer.Length, body.UnreadLength);
        }
    }

    [Theory]
    [InlineData(null)]
    [InlineData(10L)]
    [InlineData(long.MaxValue)]
    public async Task ReadAtLeast_AsMuchAsMayBeRead_WaitsForIt(long? maxLength)
    {
        var body = Begin(declaredLength: null);
        body.BeginRead(maxLength);
        var read = body.ReadAtLeastAsync(10, CancellationToken.None).AsTask();

        body.Append(new byte[9]);
        Assert.False(read.IsCompleted);
        body.Append(new byte[1]);

        var result = await read.Within("the read");
        Assert.Equal(10, result.Buffer.Length);
        body.AdvanceTo(result.Buffer.End, result.Buffer.End);
    }

    [Fact]
    public async Task ReadAtLeast_WhenSomeIsRead_FailsAsSoonAsTheLimitIsPassed()
    {
        var body = Begin(declaredLength: null);
        body.Append(new byte[3]);
        await ReadAllAsync(body, maxLength: 5);
        body.Append(new byte[2]);
        body.BeginRead(maxLength: 5);
        var read = body.ReadAtLeastAsync(10, CancellationToken.None).AsTask();

        Assert.False(read.IsCompleted);
        body.Append(new byte[1]);

        Assert.Equal(
            413, (await Assert.ThrowsAsync<BadHttpRequestException>(() => read.Within("the read"))).StatusCode);
    }

    [Fact]
    public async Task UnreadLength_ExaminedAndNotConsumed_DoesNotCount()
    {
        var body = Begin(declaredLength: null);
        body.Append(new byte[100]);
        body.BeginRead(maxLength: null);
        var buffer = (await body.ReadAsync(CancellationToken.None)).Buffer;

        body.AdvanceTo(buffer.GetPosition(10), buffer.GetPosition(60));

        Assert.Equal(40, body.UnreadLength);
    }

    private static async Task<int> ReadAllAsync(RequestBody body, long? maxLength)
    {
        body.BeginRead(maxLength);
        var buffer = (await body.ReadAsync(CancellationToken.None)).Buffer;
        body.AdvanceTo(buffer.End, buffer.End);
        return (int)buffer.Length;
    }

    private RequestBody Begin(long? declaredLength) => new(
        new BodyMemory(_pool),
        declaredLength,
        static (error, limit)
            => new BadHttpRequestException($"{error} {limit}", error == BodyError.TooLarge ? 413 : 400));
}
