using FastCgi.Tool.Commands.Check;

namespace FastCgi.Tool.Tests;

public sealed class CheckCommandTests
{
    [Theory]
    [InlineData(true, false)]
    [InlineData(false, false)]
    [InlineData(true, true)]
    public async Task OurServer_PassesEverything(bool usesUnixSocket, bool usesPipes)
    {
        await using var server = await SampleServer.StartAsync(usesUnixSocket: usesUnixSocket, usesPipes: usesPipes);
        // Its handler of a POST copies a body that is cut.
        server.Logs.Expected.Add("ApplicationError");
        // On a busy machine, a slow response is not missing.
        var (code, text, _) = await ToolRun.RunAsync("check", server.Address, "--hostile", "--json", "--timeout", "30");
        var results = JsonDocument.Parse(text).RootElement.GetProperty("results").EnumerateArray().Select(
            static result => (
                Id: result.GetProperty("id").GetString()!,
                Result: result.GetProperty("result").GetString()!,
                Detail: result.GetProperty("detail").GetString())).ToList();

        Assert.DoesNotContain(results, static result => result.Result == "fail");
        Assert.Equal(0, code);
        Assert.Equal(
            Checks.All.Concat(HostileChecks.All).Select(static check => check.Id),
            results.Select(static result => result.Id));
        Assert.Equal(["stderr-end"], results.Where(static result => result.Result == "skipped").Select(
            static result => result.Id));
    }

    /// <summary>A server that immediately gives the same response to any input is detected.</summary>
    [Fact]
    public async Task Server_EchoesTheRequest_Fails()
    {
        await using var server = FakeServer.Answering([
            .. RecordBytes.Record(RecordBytes.Stdout, 1, "Content-Type: text/plain\r\n\r\nhello"u8),
            .. RecordBytes.Record(RecordBytes.Stdout, 1),
            .. RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8])]);

        var (code, text, _) = await ToolRun.RunAsync("check", server.Address, "--json", "--timeout", "0.5");
        var results = JsonDocument.Parse(text).RootElement.GetProperty("results").EnumerateArray().ToDictionary(
            static result => result.GetProperty("id").GetString()!,
            static result => result.GetProperty("result").GetString());

        Assert.Equal(1, code);
        foreach (var id in (string[])[
            "ids", "version", "get-values", "unknown-management", "keep", "unknown-role", "told-truth"])
            Assert.Equal("fail", results[id]);
    }

    [Fact]
    public async Task Table_HasVerdictsAndASum()
    {
        await using var server = await SampleServer.StartAsync();

        var (code, text, _) = await ToolRun.RunAsync(
            "check", server.Address, "--only", "answer", "--only", "before-stdin");
        Assert.Equal(0, code);
        Assert.Contains("pass  answer ", text);
        Assert.Contains("pass  before-stdin ", text);
        Assert.Contains(" -- it ", text);
        Assert.EndsWith($"{server.Address}: 2 passed, 0 failed, 0 skipped\n", text);
        Assert.DoesNotContain('\e', text);
    }

    [Fact]
    public async Task Address_NothingListens_ExitsWith3()
        => Assert.Equal(3, (await ToolRun.RunAsync("check", "unix:/nonexistent/app.sock")).Code);
}
