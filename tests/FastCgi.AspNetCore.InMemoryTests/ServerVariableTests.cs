namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The web server's information about a request, beyond HTTP.</summary>
public class ServerVariableTests
{
    [Fact]
    public async Task GetServerVariable_Set_ReadsBack() => await RunAsync(
        static context =>
        {
            var variables = context.Features.GetRequiredFeature<IServerVariablesFeature>();
            variables["Document_Root"] = "/elsewhere";
            variables["NEW"] = "value";
            variables["SERVER_NAME"] = null;

            Assert.Equal("/elsewhere", context.GetServerVariable("DOCUMENT_ROOT"));
            Assert.Equal("value", context.GetServerVariable("new"));
            Assert.Null(context.GetServerVariable("SERVER_NAME"));
            Assert.Throws<ArgumentException>(() => variables[""]);
            Assert.Throws<ArgumentException>(() => variables[""] = "value");
            Assert.Throws<ArgumentNullException>(() => variables[null!]);
        });

    [Fact]
    public async Task Parameters_All_AreInOrderAndRepeated() => await RunAsync(
        static context =>
        {
            var request = context.Features.GetRequiredFeature<IFastCgiRequestFeature>();
            var expected = RecordBytes.RequestParams("GET", "/", ("HTTP_A", "1"), ("odd name=", ""), ("HTTP_A", "2"));

            Assert.Equal(FastCgiRole.Responder, request.Role);
            Assert.Equal(expected, request.Parameters.Select(static parameter => (parameter.Key, parameter.Value)));
            Assert.Same(request.Parameters, request.Parameters);
        },
        ("HTTP_A", "1"),
        ("odd name=", ""),
        ("HTTP_A", "2"));

    [Theory, Values(
        "4f1c0d6e8a2b4c5d9e0f112233445566",
        "ZR@x-4_7AbCdEfGhIjKlMnOp",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "a")]
    public async Task TraceIdentifier_FromTheFrontEnd_IsTaken(string id)
        => Assert.Equal(id, await TraceIdentifierAsync("REQUEST_ID", ("REQUEST_ID", id)));

    [Theory, Values("", "two words", "a\nb", "<script>", "\"quoted\"", "é")]
    public async Task TraceIdentifier_UnfitForLogs_IsOurOwn(string id)
        => Assert.EndsWith(
            ":00000001", await TraceIdentifierAsync("REQUEST_ID", ("REQUEST_ID", id)), StringComparison.Ordinal);

    [Fact]
    public async Task TraceIdentifier_UpTo128Characters_IsTaken()
    {
        Assert.Equal(
            new string('x', 128), await TraceIdentifierAsync("UNIQUE_ID", ("UNIQUE_ID", new string('x', 128))));
        Assert.EndsWith(
            ":00000001",
            await TraceIdentifierAsync("UNIQUE_ID", ("UNIQUE_ID", new string('x', 129))),
            StringComparison.Ordinal);
    }

    private static async Task<string> TraceIdentifierAsync(
        string? parameter, params (string Name, string Value)[] parameters)
    {
        var id = "";
        await RunAsync(
            context => id = context.TraceIdentifier,
            options => options.TraceIdentifierParameter = parameter,
            parameters);
        return id;
    }

    private static Task RunAsync(Action<HttpContext> look, params (string Name, string Value)[] parameters)
        => RunAsync(look, configure: null, parameters);

    /// <summary>What the application throws is the test's failure.</summary>
    private static async Task RunAsync(
        Action<HttpContext> look,
        Action<FastCgiServerOptions>? configure,
        params (string Name, string Value)[] parameters)
    {
        var response = await TestServer.AskAsync(
            context =>
            {
                look(context);
                return Apps.Hello(context);
            },
            configure, RecordBytes.Get(more: parameters));

        Assert.Equal(200, response.Status);
    }
}
