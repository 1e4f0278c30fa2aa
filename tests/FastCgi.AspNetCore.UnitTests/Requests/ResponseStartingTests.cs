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
}
