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

    [Theory]
    [InlineData("4f1c0d6e8a2b4c5d9e0f112233445566", true)]
    [InlineData("ZR@x-4_7AbCdEfGhIjKlMnOp", true)]
    [InlineData("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true)]
    [InlineData("a", true)]
    [InlineData("", false)]
    [InlineData("two words", false)]
    [InlineData("a\nb", false)]
    [InlineData("<script>", false)]
    [InlineData("\"quoted\"", false)]
    [InlineData("é", false)]
    public async Task TraceIdentifier_OfTheFrontEnd_IsTakenIfItFitsIntoLogs(string id, bool isTaken)
    {
        string? seen = null;
        await RunAsync(
            context => seen = context.TraceIdentifier,
            static options => options.TraceIdentifierParameter = "REQUEST_ID",
            ("REQUEST_ID", id));

        Assert.Equal(isTaken, seen == id);
        Assert.Equal(!isTaken, seen!.EndsWith(":00000001", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(128, true)]
    [InlineData(129, false)]
    public Task TraceIdentifier_Long_IsTakenUpTo128Characters(int length, bool isTaken)
        => TraceIdentifier_OfTheFrontEnd_IsTakenIfItFitsIntoLogs(new string('x', length), isTaken);

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
