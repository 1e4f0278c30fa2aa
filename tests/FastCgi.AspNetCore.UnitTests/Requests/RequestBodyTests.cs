namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>What counts against the window of a body.</summary>
public sealed class RequestBodyTests : IDisposable
{
    private readonly BufferPool _pool = new();
    private readonly Lock _lock = new();

    public void Dispose() => _pool.Dispose();

    /// <summary>The reader that is woken up comes when its thread is free; until then the window must hold, but for the byte that it waits for.</summary>
    [Fact]
    public async Task UnreadLength_WhileAReaderIsWokenUp_CountsWhatComes()
    {
        for (var i = 0; i < 200; i++)
        {
            var body = Begin(declaredLength: null);
            body.BeginRead(maxLength: null);
            var read = body.ReadAsync(CancellationToken.None).AsTask();

            Append(body, new byte[100]);
            Assert.InRange(body.UnreadLength, 99, 100);
            Append(body, new byte[50]);
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

        Append(body, new byte[9]);
        Assert.False(read.IsCompleted);
        Append(body, new byte[1]);

        var result = await read.Within("the read");
        Assert.Equal(10, result.Buffer.Length);
        body.AdvanceTo(result.Buffer.End, result.Buffer.End);
    }

    [Fact]
    public async Task Read_InSeveralReads_AsMuchAsTheLimitAndNotAByteMore()
    {
        var body = Begin(declaredLength: null);
        foreach (var length in (int[])[3, 2])
        {
            Append(body, new byte[length]);
            Assert.Equal(length, await ReadAllAsync(body, maxLength: 5));
        }

        Append(body, new byte[1]);

        // Again and again, as long as the application tries.
        for (var i = 0; i < 2; i++)
            Assert.Equal(413, (await Assert.ThrowsAsync<BadHttpRequestException>(() => ReadAllAsync(body, maxLength: 5))).StatusCode);
    }

    [Fact]
    public async Task ReadAtLeast_WhenSomeIsRead_FailsAsSoonAsTheLimitIsPassed()
    {
        var body = Begin(declaredLength: null);
        Append(body, new byte[3]);
        await ReadAllAsync(body, maxLength: 5);
        Append(body, new byte[2]);
        body.BeginRead(maxLength: 5);
        var read = body.ReadAtLeastAsync(10, CancellationToken.None).AsTask();

        Assert.False(read.IsCompleted);
        Append(body, new byte[1]);

        Assert.Equal(413, (await Assert.ThrowsAsync<BadHttpRequestException>(() => read.Within("the read"))).StatusCode);
    }

    [Fact]
    public async Task UnreadLength_ReadWaitsForANumberOfBytesAfterOthers_CountsFromWhatIsExamined()
    {
        var body = Begin(declaredLength: null);
        Append(body, new byte[100]);
        await ReadAllAsync(body, maxLength: null);
        body.BeginRead(maxLength: null);
        var read = body.ReadAtLeastAsync(50, CancellationToken.None).AsTask();

        Append(body, new byte[40]);
        Assert.Equal(0, body.UnreadLength);

        EndInput(body);
        Assert.Equal(40, (await read.Within("the read")).Buffer.Length);
    }

    [Fact]
    public async Task UnreadLength_ExaminedAndNotConsumed_DoesNotCount()
    {
        var body = Begin(declaredLength: null);
        Append(body, new byte[100]);
        body.BeginRead(maxLength: null);
        var buffer = (await body.ReadAsync(CancellationToken.None)).Buffer;

        body.AdvanceTo(buffer.GetPosition(10), buffer.GetPosition(60));

        Assert.Equal(40, body.UnreadLength);
    }

    [Theory]
    [InlineData(4, true)]
    [InlineData(5, false)]
    [InlineData(6, false)]
    public async Task Append_AroundTheDeclaredLength_IsCutThereAndOver(int sent, bool isOpen)
    {
        var body = Begin(declaredLength: 5);

        Append(body, new byte[sent]);
        Assert.Equal(!isOpen, body.IsInputOver);
        Assert.Equal(Math.Min(sent, 5), body.ReceivedLength);
        EndInput(body);

        body.BeginRead(maxLength: 5);
        if (isOpen)
            Assert.Equal(400, (await Assert.ThrowsAsync<BadHttpRequestException>(() => body.ReadAsync(CancellationToken.None).AsTask())).StatusCode);
        else
            Assert.Equal(5, await ReadAllAsync(body, maxLength: 5));
    }

    [Theory]
    [InlineData(5, 5L, false)]
    [InlineData(6, 5L, true)]
    [InlineData(6, null, false)]
    public void BeginRead_DeclaredLength_MayBeTheLimit(int declared, long? maxLength, bool isRefused)
    {
        var body = Begin(declared);

        var failure = Record.Exception(() => body.BeginRead(maxLength));

        Assert.Equal(isRefused, failure is BadHttpRequestException { StatusCode: 413 });
    }

    private static async Task<int> ReadAllAsync(RequestBody body, long? maxLength)
    {
        body.BeginRead(maxLength);
        var buffer = (await body.ReadAsync(CancellationToken.None)).Buffer;
        body.AdvanceTo(buffer.End, buffer.End);
        return (int)buffer.Length;
    }

    private void Append(RequestBody body, byte[] content)
    {
        using var scope = new ConnectionScope(_lock);
        body.Append(scope, content);
    }

    private void EndInput(RequestBody body)
    {
        using var scope = new ConnectionScope(_lock);
        body.EndInput(scope);
    }

    private RequestBody Begin(long? declaredLength) => new(new BodyMemory(_pool), declaredLength);
}
