using System.Buffers;
using FastCgi.AspNetCore.UnitTests.Requests;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>What counts against the window of a body and its rate, and who owns its blocks.</summary>
public sealed class RequestBodyTests
{
    private readonly FastCgiServerOptions _options = new();
    private readonly FastCgiRequest _request;

    public RequestBodyTests()
    {
        _options.Limits.MinRequestBodyDataRate = new MinDataRate(100, TimeSpan.FromSeconds(2));
        _request = ResponseRig.CreateRequest(CgiParameters.Get().Bytes, _options);
    }

    /// <summary>The awakened reader continues when its thread is free. Until then, the window must hold.</summary>
    [Fact]
    public async Task UnreadLength_WhileAReaderIsWokenUp_CountsWhatComes()
    {
        for (var i = 0; i < 200; i++)
        {
            var read = _request.Body.ReadAsync().AsTask();

            Append(100);
            Assert.Equal(100, _request.UnreadBodyLength);
            Append(50);
            Assert.Equal(150, _request.UnreadBodyLength);

            var buffer = (await read).Buffer;
            _request.Body.AdvanceTo(buffer.End);
            Assert.Equal(150 - (int)buffer.Length, _request.UnreadBodyLength);
            if (buffer.Length < 150)
                _request.Body.AdvanceTo((await _request.Body.ReadAsync()).Buffer.End);
        }
    }

    [Fact]
    public async Task UnreadLength_ExaminedAndNotConsumed_DoesNotCount()
    {
        Append(100);
        var buffer = (await _request.Body.ReadAsync()).Buffer;

        _request.Body.AdvanceTo(buffer.GetPosition(10), buffer.GetPosition(60));

        Assert.Equal(40, _request.UnreadBodyLength);
    }

    /// <summary>A read that began and ended between two samples was a wait too.</summary>
    [Fact]
    public async Task Rate_ReadsBetweenTheSamples_Count()
    {
        var time = _request.Server.Time;
        var start = time.GetTimestamp();
        var missed = new List<bool>();
        for (var second = 1; second <= 3; second++)
        {
            var read = _request.Body.ReadAsync().AsTask();
            Append(1);
            _request.Body.AdvanceTo((await read).Buffer.End);
            missed.Add(_request.Body.FindRateMissed(
                time, start + (second * time.TimestampFrequency), isPaused: false) is not null);
        }

        Assert.Equal([false, false, true], missed);
    }

    [Theory, Values(true, false)]
    public void Limit_AfterARead_IsReadOnlyIfThereIsABody(bool hasBody)
    {
        if (hasBody)
            Append(1);
        EndStdin();

        Assert.True(_request.Body.TryRead(out _));

        Assert.Equal(hasBody, ((IHttpMaxRequestBodySizeFeature)_request).IsReadOnly);
    }

    [Fact]
    public async Task Read_ReaderIsCompletedMeanwhile_Throws()
    {
        var read = _request.Body.ReadAsync().AsTask();

        _request.Body.Complete();

        await Assert.ThrowsAsync<InvalidOperationException>(() => read);
    }

    [Theory, Values(1, 4_096, 5_000, 200_000)]
    public async Task Blocks_Consumed_ReturnToThePool(int length)
    {
        Append(length / 2);
        Append(length - (length / 2));
        var buffer = (await _request.Body.ReadAsync()).Buffer;
        Assert.Equal(length, buffer.Length);

        _request.Body.AdvanceTo(buffer.End);

        Assert.Equal(0, Buffers.RentedCount);
        // What the application has consumed is no longer its own, so it sees nothing instead of another request.
        Assert.Empty(((ReadOnlySequenceSegment<byte>)buffer.Start.GetObject()!).Memory.ToArray());
    }

    [Theory]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task Blocks_RequestEnds_AreReusedUnlessTheApplicationMayHoldThem(bool isRead, bool isAdvanced)
    {
        Append(5_000);
        var buffer = isRead ? (await _request.Body.ReadAsync()).Buffer : default;
        if (isAdvanced)
            _request.Body.AdvanceTo(buffer.GetPosition(10), buffer.End);
        var last = isRead ? buffer.Slice(4_990).ToArray() : [];

        _request.Close();

        Assert.Equal(0, Buffers.RentedCount);
        Assert.Equal(isRead, Buffers.AllocatedBytes == 0);
        Assert.Equal(last, isRead ? buffer.Slice(4_990).ToArray() : []);
    }

    [Fact]
    public async Task AdvanceTo_PositionThatIsNotOfTheRead_Throws()
    {
        Append(5_000);
        var earlier = (await _request.Body.ReadAsync()).Buffer;
        _request.Body.AdvanceTo(earlier.End);
        Append(100);
        var buffer = (await _request.Body.ReadAsync()).Buffer;
        Append(100);

        Assert.Throws<ArgumentOutOfRangeException>(() => _request.Body.AdvanceTo(earlier.Start));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => _request.Body.AdvanceTo(new SequencePosition(buffer.End.GetObject(), buffer.End.GetInteger() + 1)));
        Assert.Throws<InvalidOperationException>(() => _request.Body.AdvanceTo(buffer.End, buffer.Start));
        _request.Body.AdvanceTo(buffer.End);
        Assert.Equal(100, _request.UnreadBodyLength);
    }

    private BufferPool Buffers => _request.Server.Buffers;

    private void EndStdin()
    {
        using var scope = _request.EnterLock();
        _request.EndStdin(scope);
    }

    private void Append(int length)
    {
        using var scope = _request.EnterLock();
        _request.AppendStdin(scope, new byte[length]);
    }
}
