namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Advice hangs on symptoms: a request without one does not call it.</summary>
public sealed class AdviceCostTests
{
    [Theory]
    [InlineData("nothing", 0, 0)]
    [InlineData("the address", 0, 0)]
    [InlineData("another address", 0, 1)]
    [InlineData("the scheme", 0, 1)]
    [InlineData("the host", 0, 1)]
    [InlineData("a header of the connection", 0, 1)]
    [InlineData("404", 0, 1)]
    [InlineData("500", 0, 0)]
    [InlineData("no target", 1, 0)]
    [InlineData("no method", 1, 0)]
    [InlineData("no port", 1, 0)]
    public async Task Request_OnAKeptConnection_CallsTheAdvisorOnlyForASymptom(
        string symptom, int requests, int responses)
    {
        var advisor = new CountingAdvisor();
        await using var server = await TestServer.StartAsync(
            context => HandleAsync(context, symptom), advisor: advisor);
        var frontEnd = server.Connect();

        // The first one shows what the web server passes.
        await frontEnd.AskAsync(RecordBytes.Get());
        Assert.Equal(1, advisor.RequestCount);
        advisor.EndWatch();
        var before = advisor.ResponseCount;
        await frontEnd.AskAsync(symptom switch
        {
            "no target" => Request(("REQUEST_METHOD", "GET")),
            "no method" => Request(("REQUEST_URI", "/odd")),
            "no port" => RecordBytes.Get(uri: "/odd", more: [("SERVER_PORT", "8080"), ("HTTP_HOST", "example.test")]),
            _ => RecordBytes.Get(uri: "/odd", more: [("SERVER_PORT", "8080"), ("HTTP_HOST", "example.test:8080")]),
        });

        Assert.Equal((1 + requests, before + responses), (advisor.RequestCount, advisor.ResponseCount));
    }

    private static byte[] Request(params (string Name, string Value)[] parameters)
        => [.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters), .. RecordBytes.StdinStream(1, [])];

    /// <summary>Like MVC, it reads many headers.</summary>
    private static Task HandleAsync(HttpContext context, string symptom)
    {
        _ = context.Request.Headers.ToList();
        if (context.Request.Path == "/odd")
            ShowSymptom(context, symptom);
        return context.Response.WriteAsync("Hello");
    }

    private static void ShowSymptom(HttpContext context, string symptom)
    {
        var connection = context.Connection;
        if (symptom == "the address")
            connection.RemoteIpAddress = connection.RemoteIpAddress;
        if (symptom == "another address")
            connection.RemoteIpAddress = IPAddress.Parse("203.0.113.9");
        if (symptom == "the scheme")
            context.Request.Scheme = "https";
        if (symptom == "the host")
            context.Request.Host = new HostString("other.test");
        if (symptom == "a header of the connection")
            context.Response.Headers.KeepAlive = "timeout=5";
        if (int.TryParse(symptom, out var status))
            context.Response.StatusCode = status;
    }

    private sealed class CountingAdvisor : Advisor
    {
        public int RequestCount { get; private set; }

        public int ResponseCount { get; private set; }

        public void EndWatch() => SeesAllResponses = false;

        public override void CheckRequest(FastCgiRequest request) => RequestCount++;

        public override void CheckResponse(FastCgiRequest request) => ResponseCount++;

        public override void OnGivenUp(string? software, TimeSpan age)
        {
        }

        public override void OnSlow(RequestDescription request)
        {
        }

        public override void OnUserNotTaken(string? software, string userParameter, string typeParameter)
        {
        }

        public override void OnRoleNotServed(FastCgiRole role)
        {
        }

        public override void OnOtherProtocol(string protocol, Func<string> describePeer)
        {
        }
    }
}
