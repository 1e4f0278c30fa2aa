using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>How status and headers become final, and what is told of them.</summary>
public sealed class ResponseStartingTests : IDisposable
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _rig.Dispose();

    [Fact]
    public async Task Start_WithSomeThatIsNotAllowed_ThrowsTheSame()
    {
        _rig.Begin();
        await Response.StartAsync();

        Assert.StartsWith("StatusCode cannot be set", Assert.Throws<InvalidOperationException>(() => Response.StatusCode = 201).Message, StringComparison.Ordinal);
        Assert.StartsWith("ReasonPhrase cannot be set", Assert.Throws<InvalidOperationException>(() => Response.ReasonPhrase = "x").Message, StringComparison.Ordinal);
        Assert.StartsWith("OnStarting cannot be set", Assert.Throws<InvalidOperationException>(() => Response.OnStarting(static _ => Task.CompletedTask, this)).Message, StringComparison.Ordinal);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Response.StartAsync(new CancellationToken(canceled: true)));
    }

    /// <summary>It is told when the client has all it waits for: not before the last byte, and at once where there is no body.</summary>
    [Fact]
    public async Task Answered_WithTheLastByteOfTheDeclaredLength()
    {
        _rig.Begin();
        Response.Headers.ContentLength = 5;
        await _rig.WriteAsync("hell");
        Assert.Empty(_rig.Owner.Told);

        await _rig.WriteAsync("o");

        Assert.Equal(["answered"], _rig.Owner.Told);
    }

    [Theory]
    [InlineData(true, 200, true)]
    [InlineData(false, 204, true)]
    [InlineData(false, 205, true)]
    [InlineData(false, 304, true)]
    [InlineData(false, 200, false)]
    [InlineData(false, 206, false)]
    public async Task Start_WithoutABody_IsAnswered(bool isHead, int status, bool isAnswered)
    {
        _rig.Begin(isHead: isHead);
        Response.StatusCode = status;

        await Response.StartAsync();

        Assert.Equal(isAnswered ? ["answered"] : [], _rig.Owner.Told);
    }

    [Theory]
    [InlineData("start")]
    [InlineData("write")]
    [InlineData("end")]
    public async Task Head_WhatIsOddInIt_IsToldOnce(string how)
    {
        _rig.Begin();
        Response.Headers["Connection"] = "close";
        Response.Headers["X"] = "1";
        Response.Headers["Upgrade"] = "h2c";
        Response.Headers["Content-Type"] = "Text/Event-Stream; charset=utf-8";

        if (how == "start")
            await Response.StartAsync();
        else if (how == "write")
            await _rig.WriteAsync("data: 1\n\n");
        Assert.Equal(how == "end" ? 0 : 2, _rig.Owner.Told.Count);
        Response.Finish();

        Assert.Equal(["dropped Connection, Upgrade", "event stream"], _rig.Owner.Told);
        Assert.Contains("X-Accel-Buffering: no\r\n", _rig.Stdout, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Head_OfAnotherType_IsNoEventStream()
    {
        _rig.Begin();
        Response.Headers["Content-Type"] = "text/plain; text/event-stream";

        await _rig.WriteAsync("x");
        Response.Finish();

        Assert.Empty(_rig.Owner.Told);
        Assert.DoesNotContain("X-Accel-Buffering", _rig.Stdout, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true, 200, true, null)]
    [InlineData(true, 200, false, "role Authorizer")]
    [InlineData(true, 403, false, null)]
    [InlineData(false, 200, false, null)]
    public async Task Authorizer_200OfWhatIsNone_IsRefused(bool isAuthorizer, int status, bool allowsOk, string? refusal)
    {
        _rig.Begin(isAuthorizer: isAuthorizer);
        _rig.Owner.AllowsOk = allowsOk;
        Response.StatusCode = status;
        Response.Headers["X"] = "1";

        var error = await Record.ExceptionAsync(() => Response.StartAsync());

        if (refusal is not null)
        {
            Assert.Contains(refusal, Assert.IsType<InvalidOperationException>(error).Message, StringComparison.Ordinal);
            return;
        }

        Assert.Null(error);
        Response.Finish();
        Assert.Equal(isAuthorizer, _rig.Stdout.StartsWith("Status: ", StringComparison.Ordinal));
    }

    [Fact]
    public async Task OnStarting_OneThatThrows_IsAnErrorAndTheOthersAreNotCalled()
    {
        _rig.Begin();
        Response.OnStarting(static _ => throw new InvalidOperationException("is not called"), this);
        Response.OnStarting(static _ => throw new FormatException("on purpose"), this);

        var error = await Assert.ThrowsAsync<ObjectDisposedException>(() => Response.StartAsync());

        Assert.IsType<FormatException>(error.InnerException);
        Assert.Equal((false, false), (Response.HasOnStarting, Response.HasStarted));
        Assert.Equal(["error on purpose"], _rig.Owner.Told);
    }

    /// <summary>What is the application's own is asked without the lock: meanwhile the object may go on to another use.</summary>
    [Theory]
    [InlineData("write")]
    [InlineData("flush")]
    [InlineData("start")]
    [InlineData("complete")]
    public async Task Headers_InWhichTheUseEnds_TheNextIsUntouched(string how)
    {
        var isOver = false;
        _rig.Begin(new ResponseSettings
        {
            EncodingSelector = name =>
            {
                if (name == "X-End" && !isOver)
                {
                    isOver = true;
                    _rig.Drop();
                    _rig.Close();
                    _rig.Begin();
                }

                return null;
            },
        });
        Response.Headers = new HeaderDictionary { ["X-End"] = "1" };

        await Assert.ThrowsAsync<ObjectDisposedException>(() => UseAsync(how));

        Assert.Equal((true, false, 0L), (isOver, Response.HasStarted, Response.BytesWritten));
        Assert.Empty(Response.Headers);
        Assert.Empty(_rig.Layout);
    }

    [Fact]
    public async Task OnStarting_FlushOfAStatusWithoutABody_IsNoWrite()
    {
        _rig.Begin();
        Response.StatusCode = 204;
        Response.OnStarting(static _ => Task.CompletedTask, this);

        Assert.False((await Response.Writer.FlushAsync()).IsCompleted);

        Assert.Equal("Status: 204 No Content\r\n\r\n", _rig.Stdout);
    }

    [Theory]
    [InlineData("write")]
    [InlineData("flush")]
    [InlineData("start")]
    [InlineData("complete")]
    public async Task OnStarting_AnyStart_IsCalledBeforeItAndAwaited(string how)
    {
        _rig.Begin();
        Response.OnStarting(
            async _ =>
            {
                await Task.Yield();
                Response.Headers["X-Late"] = "1";
            },
            this);

        await UseAsync(how);

        Assert.True(Response.HasStarted);
        Assert.False(Response.HasOnStarting);
        Response.Finish();
        Assert.StartsWith("X-Late: 1\r\n", _rig.Stdout, StringComparison.Ordinal);
        Assert.Equal(how == "write" ? "x" : "", _rig.Body);
    }

    private Task UseAsync(string how) => how switch
    {
        "write" => _rig.WriteAsync("x").AsTask(),
        "flush" => Response.Writer.FlushAsync().AsTask(),
        "start" => Response.StartAsync(),
        _ => Response.CompleteAsync(),
    };
}
