using FastCgi.AspNetCore.UnitTests.Requests;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>What counts against the window of a body, and against its rate.</summary>
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

    private void Append(int length)
    {
        using var scope = _request.EnterLock();
        _request.AppendStdin(scope, new byte[length]);
    }
}
