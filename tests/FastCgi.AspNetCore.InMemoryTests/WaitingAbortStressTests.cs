namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// One thread executes a request and another one aborts it in the same instant, while a third one looks at it: the application has all of it,
/// or is not called, and the object serves the next request.
/// </summary>
public sealed class WaitingAbortStressTests
{
    private const int Steps = 600;

    private static readonly byte[] s_content = Apps.Pattern(20_000);

    private string? _wrong;

    [Theory]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(true, true)]
    public async Task Request_ExecutedAndAbortedAtOnce_IsWholeOrNotCalled(bool isFilter, bool isDecoded)
    {
        await using var server = await TestServer.StartAsync(context => RunAsync(context, isFilter), options =>
        {
            options.Roles.Add(FastCgiRole.Filter);
            options.TraceIdentifierParameter = "HTTP_X_TRACE";
            options.SlowRequestThreshold = TimeSpan.FromMilliseconds(1);
            if (isDecoded)
                options.RequestHeaderEncodingSelector = static _ => Encoding.UTF8;
        });
        var random = new Random(1);
        for (var step = 0; step < Steps; step++)
        {
            var waiting = WaitingRequest.Receive(server, s_content, isFilter);
            var how = (Leaving)random.Next(3);
            var (delay, other) = (random.Next(200), random.Next(200));
            using var start = new Barrier(3);
            var leaving = Task.Run(() =>
            {
                start.SignalAndWait();
                Thread.SpinWait(delay);
                waiting.Leave(how);
            });
            var looking = Task.Run(() =>
            {
                start.SignalAndWait();
                for (var i = 0; i < 5; i++)
                {
                    _ = waiting.FrontEnd.Transport.Connection.DescribeRequest(1, 1);
                    waiting.FrontEnd.Transport.Connection.OnTick(0, 0);
                }
            });
            start.SignalAndWait();
            Thread.SpinWait(other);
            waiting.Request.Execute();
            await leaving;
            await looking;
            server.Clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Null(_wrong);
    }

    private async Task RunAsync(HttpContext context, bool isFilter)
    {
        for (var i = 0; i < 2; i++)
        {
            if (context.Request.Headers["X-Long"].ToString().Length != 1_000 || context.TraceIdentifier != "trace")
                _wrong ??= "The parameters are not all there.";
            if (context.Request.QueryString.Value?.Length != 2_001)
                _wrong ??= "The query is not all there.";
            if (context.Features.Get<IFastCgiRequestFeature>()!.Parameters.Count < 5)
                _wrong ??= "The variables are not all there.";
            await ReadAsync(context.Request.Body);
            if (isFilter)
                await ReadAsync(context.Features.Get<IFastCgiFilterFeature>()!.Data);
        }
    }

    private async Task ReadAsync(Stream stream)
    {
        try
        {
            var read = new MemoryStream();
            await stream.CopyToAsync(read);
            if (read.Length is not 0 && !read.ToArray().AsSpan().SequenceEqual(s_content))
                _wrong ??= "The body is another one.";
        }
        catch (Exception exception) when (exception is IOException or ConnectionAbortedException)
        {
            // Aborted meanwhile.
        }
    }
}
