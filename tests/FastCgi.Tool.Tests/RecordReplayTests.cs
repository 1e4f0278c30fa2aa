using System.Buffers;
using System.Text.Json;
using FastCgi.Client;
using FastCgi.Tool.Commands.Replay;
using FastCgiClient = FastCgi.Client.FastCgiClient;

namespace FastCgi.Tool.Tests;

public sealed class RecordReplayTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    private string Listen => "unix:" + _folder.GetPath("record.sock");

    private string Recording => _folder.GetPath("traffic.jsonl");

    [Fact]
    public async Task Replay_ToTheSame_HasNoDifferences()
    {
        await using var server = await SampleServer.StartAsync();
        await RecordAsync(server.Address);

        foreach (var more in (string[][])[[], ["--speed", "100"]])
        {
            var (code, text, error) = await ToolRun.RunAsync(["replay", Recording, server.Address, .. more]);
            Assert.Equal((0, ""), (code, error));
            Assert.Equal("2 connections, 4 requests, 3 answers compared, 0 differences\n", text);
        }
    }

    [Fact]
    public async Task Replay_ToAnother_TellsWhatDiffers()
    {
        await using (var server = await SampleServer.StartAsync())
            await RecordAsync(server.Address);
        await using var other = await SampleServer.StartAsync("other");

        var (code, text, _) = await ToolRun.RunAsync("replay", Recording, other.Address);
        Assert.Equal(1, code);
        Assert.Matches(@"1 +GET / +body +5 bytes, from 0: hello +5 bytes, from 0: other", text);

        (code, text, _) = await ToolRun.RunAsync("replay", Recording, other.Address, "--json");
        var difference = Assert.Single(JsonDocument.Parse(text).RootElement.GetProperty("differences").EnumerateArray());
        Assert.Equal((1, "body"), (code, difference.GetProperty("what").GetString()));
    }

    [Fact]
    public void Ignored_Headers_AreNotCompared()
    {
        RecordedAnswer Create(string head)
        {
            var answer = new RecordedAnswer();
            answer.Output.Write(System.Text.Encoding.ASCII.GetBytes(head + "\n\nbody"));
            return answer;
        }

        var differences = AnswerComparison.Compare(1, Create("A: 1\nB: 1\nC: 1\nCookie: secret"), Create("Status: 201\nA: 1\nB: 2\nD: 1\nCookie: other"), new HashSet<string>(["b"], StringComparer.OrdinalIgnoreCase)).ToList();
        Assert.Equal(["status", "header C", "header Cookie", "header D"], differences.Select(static difference => difference.What));
        Assert.DoesNotContain(differences, static difference => difference.Recorded.Contains("secret", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Replay_ToNobody_IsThree()
    {
        await using (var server = await SampleServer.StartAsync())
            await RecordAsync(server.Address);

        Assert.Equal(3, (await ToolRun.RunAsync("replay", Recording, "unix:/nonexistent/app.sock")).Code);
    }

    [Fact]
    public async Task Recording_HasTheBytesOfBothSides_ForItsOwnerOnly()
    {
        await using var server = await SampleServer.StartAsync();
        await RecordAsync(server.Address);
        var lines = (await File.ReadAllLinesAsync(Recording)).Select(static line => JsonDocument.Parse(line).RootElement).ToList();

        Assert.Equal("fastcgi-recording/1", lines[0].GetProperty("format").GetString());
        Assert.Equal(["open"], lines.Where(static line => line.TryGetProperty("event", out _)).Take(1).Select(static line => line.GetProperty("event").GetString()));
        byte[] Join(string from) => [.. lines.Skip(1).Where(line => line.TryGetProperty("bytes", out _) && line.GetProperty("from").GetString() == from && line.GetProperty("c").GetInt32() == 1).SelectMany(static line => line.GetProperty("bytes").GetBytesFromBase64())];
        Assert.Equal(RecordBytes.Begin(), Join("web")[..16]);
        Assert.Equal(RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8]), Join("app")[^16..]);
        if (!OperatingSystem.IsWindows())
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(Recording));
        Assert.False(File.Exists(_folder.GetPath("record.sock")));
    }

    [Fact]
    public async Task Record_WhereAnotherListens_IsThree()
    {
        await using var server = await SampleServer.StartAsync();

        Assert.Equal(3, (await ToolRun.RunAsync("record", "--listen", server.Address, "--to", server.Address, "-o", Recording)).Code);
        Assert.Equal((0, "hello", ""), await ToolRun.RunAsync("request", server.Address, "/"));
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>Three requests with their answers on one connection, and one on another that is given up.</summary>
    private async Task RecordAsync(string address)
    {
        using var run = ToolRun.Start("record", "--listen", Listen, "--to", address, "-o", Recording);
        await run.UntilErrorHasAsync("Recording");
        using (var client = new HttpClient(new FastCgiHttpHandler(Listen)))
        {
            Assert.Equal("hello", await client.GetStringAsync("http://example.com/"));
            using var echo = await client.PostAsync("http://example.com/", new ByteArrayContent(new byte[200_000]));
            Assert.Equal(200_000, (await echo.Content.ReadAsByteArrayAsync()).Length);
            using var failed = await client.GetAsync("http://example.com/error");
            Assert.Equal(503, (int)failed.StatusCode);
        }

        using (var client = new FastCgiClient(Listen))
        {
            using var cancellation = new CancellationTokenSource();
            var request = new FastCgiRequestMessage();
            foreach (var (name, value) in RecordBytes.RequestParams(uri: "/hold"))
                request.Parameters.Add(name, value);
            var held = client.SendAsync(request, cancellation.Token);
            await Waiting.UntilAsync(() => File.ReadLines(Recording).Any(static line => line.Contains("\"c\":2,\"from\":\"web\"", StringComparison.Ordinal)), "the second connection");
            await cancellation.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => held);
        }

        await Waiting.UntilAsync(() => File.ReadLines(Recording).Count(static line => line.Contains("\"from\":\"web\",\"event\"", StringComparison.Ordinal)) == 2, "the ends");
        Assert.Equal(0, await run.StopAsync());
    }
}
