namespace FastCgi.Client.Tests;

/// <summary>
/// A body that is shorter or longer than its CONTENT_LENGTH fails the request, whenever the response comes.
/// </summary>
public sealed class ContentLengthTests : IDisposable
{
    private const int Declared = 1_000;

    private readonly ScriptedApplication _application = new();
    private readonly FakeClock _clock = new();
    private readonly HttpClient _http;
    private readonly FastCgiClient _client;

    public ContentLengthTests()
    {
        var options = new FastCgiClientOptions { TimeProvider = _clock };
        _client = new FastCgiClient(_application.Address, options);
        _http = new HttpClient(new FastCgiHttpHandler(_application.Address, options));
    }

    public enum Moment
    {
        /// <summary>The application answers before it receives any of the body.</summary>
        Before,

        /// <summary>The application answers after it has received some of the body.</summary>
        During,

        /// <summary>The same, but the response ends only after the body.</summary>
        HeadDuring,

        /// <summary>The same, and the application has closed the connection before it receives the rest.</summary>
        CloseDuring,

        /// <summary>The application answers when the client sends nothing more.</summary>
        After,
    }

    public static IEnumerable<object[]> Cases
        => from length in new[] { 0, 1, Declared - 1, Declared + 1, 100 * Declared }
           from moment in Enum.GetValues<Moment>()
           from usesHandler in new[] { false, true }
           where !usesHandler || length == Declared + 1
           select new object[] { length, moment, usesHandler };

    [Theory, MemberData(nameof(Cases))]
    public async Task Body_OfAnotherLength_Fails(int length, Moment moment, bool usesHandler)
    {
        var body = new SteppedStream(length);
        var sending = PostAsync(body, usesHandler);
        await AnswerAsync(body, moment);

        var exception = await Xunit.Record.ExceptionAsync(() => sending.Within("the failure"));
        var cause = usesHandler ? Assert.IsType<HttpRequestException>(exception).InnerException : exception;
        Assert.Equal(FastCgiProtocolError.RequestBodyLength, Assert.IsType<FastCgiProtocolException>(cause).Error);
        var sent = moment == Moment.After && (length is 1 or Declared - 1) ? $"{length}" : "[0-9,]+";
        Assert.Matches($"Sent {sent} bytes of the request body, but CONTENT_LENGTH is 1,000.$", exception!.Message);
        if (exception is HttpRequestException http)
            Assert.Equal(HttpRequestError.Unknown, http.HttpRequestError);
    }

    [Theory]
    [InlineData(Moment.Before, false)]
    [InlineData(Moment.During, true)]
    [InlineData(Moment.HeadDuring, true)]
    [InlineData(Moment.CloseDuring, false)]
    public async Task Body_OfItsLength_AfterTheResponse_IsNotAFailure(Moment moment, bool usesHandler)
    {
        var body = new SteppedStream(Declared);
        var sending = PostAsync(body, usesHandler);
        await AnswerAsync(body, moment);

        Assert.Equal("hello", await sending.Within("the answer"));
    }

    /// <summary>The client waits a second for the rest of the body, and then cancels it.</summary>
    [Theory, Values(false, true)]
    public async Task Body_WithoutEnd_AfterTheResponse_IsNotAFailure(bool usesHandler)
    {
        var body = new SteppedStream(Declared + 1);
        var sending = PostAsync(body, usesHandler);
        await (await _application.AcceptAsync()).SendAsync(ScriptedConnection.Answer("A: b\n\nhello"));
        await Waiting.UntilAsync(() =>
        {
            _clock.Advance(TimeSpan.FromSeconds(1));
            return sending.IsCompleted;
        }, "the answer");

        Assert.Equal("hello", await sending);
        await body.Canceled.Within("the end of the body");
    }

    public void Dispose()
    {
        _http.Dispose();
        _client.Dispose();
        _application.Dispose();
    }

    private async Task<string> PostAsync(Stream body, bool usesHandler)
    {
        if (usesHandler)
        {
            using var content = new StreamContent(body) { Headers = { ContentLength = Declared } };
            using var message = await _http.PostAsync("http://example.com/", content);
            return await message.Content.ReadAsStringAsync();
        }

        var request = Requests.Create("POST", body: body);
        request.Parameters["CONTENT_LENGTH"] = $"{Declared}";
        using var response = await _client.SendAsync(request);
        return await response.ReadTextAsync();
    }

    private async Task AnswerAsync(SteppedStream body, Moment moment)
    {
        var connection = await _application.AcceptAsync();
        var answer = ScriptedConnection.Answer("A: b\n\nhello");
        if (moment != Moment.Before)
        {
            body.Release(1);
            while (await connection.ReadRecordAsync() is { Type: not Stdin })
            {
            }
        }

        switch (moment)
        {
            case Moment.HeadDuring:
                await connection.SendAsync(Record(Stdout, 1, "A: b\n\nhello"u8));
                body.Release(2);
                await body.IsRead.Within("the end of the body");
                answer = [.. Record(Stdout, 1), .. ScriptedConnection.EndOfRequest()];
                break;
            case Moment.After:
                body.Release(2);
                while (await connection.ReadRecordAsync() is { } record)
                    Assert.False(record is { Type: Stdin, Content.Length: 0 });
                break;
        }

        try
        {
            await connection.SendAsync(answer);
        }
        catch (IOException) when (moment is Moment.HeadDuring or Moment.After)
        {
            // The client has closed the connection.
        }

        if (moment == Moment.CloseDuring)
            connection.Dispose();
        body.Release(2);
    }

    /// <summary>A stream of unknown length, whose first byte and whose rest wait until they are released.</summary>
    private sealed class SteppedStream(int length) : MemoryStream(new byte[length])
    {
        private readonly TaskCompletionSource[] _steps = [Waiting.Signal(), Waiting.Signal()];
        private readonly TaskCompletionSource _canceled = Waiting.Signal();
        private readonly TaskCompletionSource _read = Waiting.Signal();

        public override bool CanSeek => false;

        public Task Canceled => _canceled.Task;

        public Task IsRead => _read.Task;

        public void Release(int steps)
        {
            foreach (var step in _steps.Take(steps))
                step.TrySetResult();
        }

        public override async Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
        {
            try
            {
                await _steps[0].Task.WaitAsync(cancellationToken);
                await destination.WriteAsync(new byte[1], cancellationToken);
                await _steps[1].Task.WaitAsync(cancellationToken);
                for (var sent = 1; sent < length; sent += 999)
                    await destination.WriteAsync(new byte[Math.Min(999, length - sent)], cancellationToken);
            }
            catch (OperationCanceledException)
            {
                _canceled.TrySetResult();
                throw;
            }
            finally
            {
                _read.TrySetResult();
            }
        }
    }
}
