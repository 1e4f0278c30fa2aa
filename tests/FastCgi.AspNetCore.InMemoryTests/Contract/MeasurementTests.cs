namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>Request log, activity and ASP.NET Core's meters for each way in which a request can end.</summary>
public class MeasurementTests
{
    [Theory]
    [Contract("J")]
    [InlineData("nothing", "status_code=200")]
    [InlineData("body", "status_code=200")]
    [InlineData("204", "status_code=204")]
    [InlineData("404", "status_code=404")]
    [InlineData("throws", "status_code=500")]
    [InlineData("throws late", "status_code=200")]
    [InlineData("bad request", "status_code=400")]
    [InlineData("too short", "status_code=500")]
    [InlineData("starting throws", "status_code=500")]
    [InlineData("aborts", "status_code=499")]
    [InlineData("aborts late", "status_code=200")]
    [InlineData("completes", "status_code=200")]
    [InlineData("client goes", "status_code=499")]
    [InlineData("client goes late", "status_code=200")]
    public async Task Request_AnyEnding_LogActivityAndMetersAsKestrel(string ending, string status)
    {
        var gone = Waiting.Signal();
        using var activities = new Oracle.RequestActivities();
        var request = new TestRequest("GET", "/" + Guid.NewGuid())
        {
            GoneWhen = ending.StartsWith(
            "client", StringComparison.Ordinal) ? gone.Task : null
        };
        Activity? first = null;
        Activity? second = null;

        var (kestrel, ours) = await Parity.RunAsync(
            (context, _) =>
            {
                second = first;
                first = Activity.Current;
                return EndAsync(context, ending, gone);
            },
            request);

        Assert.Contains(status, ours.Measurement);
        Assert.Equal(kestrel.Measurement, ours.Measurement);
        Assert.Equal(kestrel.RequestLog, ours.RequestLog);
        Assert.StartsWith("Request finished HTTP/1.1 GET http://www.example.test/", ours.RequestLog);
        Assert.Equal(0, ours.ActiveRequests);
        Assert.Equal(await activities.WaitAsync(second!), await activities.WaitAsync(first!));
        Assert.Null(Activity.Current);
    }

    private static async Task EndAsync(HttpContext context, string ending, TaskCompletionSource gone)
    {
        var response = context.Response;
        switch (ending)
        {
            case "body":
                response.ContentType = "text/plain";
                await response.WriteAsync("Hello");
                break;
            case "204" or "404":
                response.StatusCode = int.Parse(ending);
                break;
            case "throws":
                throw new FormatException("on purpose");
            case "throws late":
                await response.WriteAsync("Hello");
                throw new FormatException("on purpose");
            case "bad request":
                throw new BadHttpRequestException("on purpose");
            case "too short":
                response.ContentLength = 10;
                break;
            case "starting throws":
                response.OnStarting(static () => throw new FormatException("on purpose"));
                break;
            case "aborts":
                context.Abort();
                break;
            case "aborts late":
                await response.WriteAsync("Hello");
                context.Abort();
                break;
            case "completes":
                await response.CompleteAsync();
                break;
            case "client goes":
                gone.TrySetResult();
                await Apps.UntilAborted(context);
                break;
            case "client goes late":
                await response.WriteAsync("Hello");
                gone.TrySetResult();
                await Apps.UntilAborted(context);
                break;
        }
    }
}
