namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The web server's information about a request, beyond HTTP.</summary>
public class ServerVariableTests
{
    [Fact]
    public Task GetServerVariable_Set_ReadsBack() => TestServer.AskAsync(Apps.Do(
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
        }));

    [Fact]
    public Task Parameters_RepeatedAndOdd_AreInOrder() => TestServer.AskAsync(
        Apps.Do(static context =>
        {
            var request = context.Features.GetRequiredFeature<IFastCgiRequestFeature>();
            var expected = RecordBytes.RequestParams("GET", "/", ("HTTP_A", "1"), ("odd name=", ""), ("HTTP_A", "2"));

            Assert.Equal(FastCgiRole.Responder, request.Role);
            Assert.Equal(expected, request.Parameters.Select(static parameter => (parameter.Key, parameter.Value)));
            Assert.Same(request.Parameters, request.Parameters);
        }),
        RecordBytes.Get(more: [("HTTP_A", "1"), ("odd name=", ""), ("HTTP_A", "2")]));

    [Theory]
    [InlineData("ZR@x-4_7AbCdEfGhIjKlMnOp", true)]
    [InlineData("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true)]
    [InlineData("", false)]
    [InlineData("two words", false)]
    [InlineData("a\nb", false)]
    [InlineData("\"quoted\"", false)]
    [InlineData("é", false)]
    public async Task TraceIdentifier_OfTheFrontEnd_IsTakenIfItFitsIntoLogs(string id, bool isTaken)
    {
        string? seen = null;
        await TestServer.AskAsync(
            Apps.Do(context => seen = context.TraceIdentifier),
            static options => options.TraceIdentifierParameter = "REQUEST_ID",
            RecordBytes.Get(more: ("REQUEST_ID", id)));

        Assert.Equal(isTaken, seen == id);
        Assert.Equal(!isTaken, seen!.EndsWith(":00000001", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(128, true)]
    [InlineData(129, false)]
    public Task TraceIdentifier_Long_IsTakenUpTo128Characters(int length, bool isTaken)
        => TraceIdentifier_OfTheFrontEnd_IsTakenIfItFitsIntoLogs(new string('x', length), isTaken);
}
