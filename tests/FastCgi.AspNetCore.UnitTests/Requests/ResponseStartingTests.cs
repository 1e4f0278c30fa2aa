namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>How status and headers become final, and which callbacks see it.</summary>
public sealed class ResponseStartingTests
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    [Theory]
    [InlineData("Text/Event-Stream; charset=utf-8", true)]
    [InlineData("text/plain; text/event-stream", false)]
    public void EventStream_ByItsType_IsNotBuffered(string type, bool isEventStream)
    {
        _rig.Begin();
        Response.Headers["Content-Type"] = type;

        Response.Finish();

        Assert.Equal(isEventStream, _rig.Stdout.Contains("X-Accel-Buffering: no\r\n", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(200, false, true)]
    [InlineData(302, false, true)]
    [InlineData(399, false, true)]
    [InlineData(400, false, false)]
    [InlineData(200, true, false)]
    public async Task Authorizer_AnswerThatMayAllowOfWhatIsNone_IsRefused(int status, bool isAuthorizer, bool isRefused)
    {
        _rig.Begin(role: FastCgiRole.Authorizer);
        Response.StatusCode = status;
        if (isAuthorizer)
            _rig.Request.BeginAuthorization();

        var error = await Record.ExceptionAsync(() => Response.StartAsync());

        Assert.Equal(isRefused, error is InvalidOperationException);
        Assert.Equal(isRefused, error is not null);
        _rig.Complete(error);
        Assert.StartsWith(isRefused ? "Status: 500" : $"Status: {status}", _rig.Stdout, StringComparison.Ordinal);
    }

    /// <summary>The application's own code is called without the lock, so the request may end meanwhile.</summary>
    [Theory, Values("write", "flush", "start", "complete")]
    public async Task Headers_InWhichTheRequestEnds_Throws(string how)
    {
        var isOver = false;
        _rig.Options.ResponseHeaderEncodingSelector = name =>
        {
            if (name == "X-End" && !isOver)
            {
                isOver = true;
                _rig.Abort();
                _rig.Complete();
            }

            return null;
        };
        _rig.Begin();
        Response.Headers = new HeaderDictionary { ["X-End"] = "1" };

        await Assert.ThrowsAsync<ObjectDisposedException>(() => UseAsync(how));

        Assert.Equal((true, false, 0L), (isOver, Response.HasStarted, Response.BytesWritten));
        Assert.Empty(_rig.Stdout);
    }

    private Task UseAsync(string how) => how switch
    {
        "write" => _rig.WriteAsync("x").AsTask(),
        "flush" => Response.Writer.FlushAsync().AsTask(),
        "start" => Response.StartAsync(),
        _ => Response.CompleteAsync(),
    };
}
