using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Tests.Requests;

/// <summary>What counts against the window of a body.</summary>
public sealed class RequestBodyTests : IDisposable
{
    private readonly BufferPool _pool = new();

    public void Dispose() => _pool.Dispose();

    /// <summary>The reader that is woken up comes when its thread is free; until then the window must hold.</summary>
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
            body.AdvanceTo(buffer.Start, buffer.End);
            Assert.Equal(150 - (int)buffer.Length, body.UnreadLength);
            body.Reset();
        }
    }

    [Fact]
    public async Task UnreadLength_ReadWaitsForANumberOfBytes_CountsWhatIsBeyond()
    {
        var body = Begin(declaredLength: null);
        body.Append(new byte[100]);
        body.BeginRead(maxLength: null);
        var read = body.ReadAtLeastAsync(1_000, CancellationToken.None).AsTask();

        body.Append(new byte[800]);
        Assert.Equal(0, body.UnreadLength);
        body.CancelPendingRead();
        var canceled = await read;
        Assert.True(canceled.IsCanceled);
        Assert.Equal(900, body.UnreadLength);
        body.AdvanceTo(canceled.Buffer.Start, canceled.Buffer.Start);
        body.Reset();
    }

    [Fact]
    public async Task ReadAtLeast_MoreThanMayBeRead_FailsAsSoonAsThatShows()
    {
        var body = Begin(declaredLength: null);
        body.BeginRead(maxLength: 5);
        var read = body.ReadAtLeastAsync(int.MaxValue, CancellationToken.None).AsTask();

        body.Append(new byte[5]);
        Assert.False(read.IsCompleted);
        body.Append(new byte[1]);

        var exception = await Assert.ThrowsAsync<BadHttpRequestException>(() => read.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(413, exception.StatusCode);
        body.Reset();
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

        var result = await read.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal(10, result.Buffer.Length);
        body.AdvanceTo(result.Buffer.End, result.Buffer.End);
        body.Reset();
    }

    private RequestBody Begin(long? declaredLength)
    {
        var body = new RequestBody(_pool);
        body.Begin(declaredLength);
        return body;
    }
}
