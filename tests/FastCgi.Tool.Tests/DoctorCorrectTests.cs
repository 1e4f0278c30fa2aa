using System.Text;

namespace FastCgi.Tool.Tests;

/// <summary>Correct configurations: nothing is wrong with them. Ours cause no note either.</summary>
public sealed class DoctorCorrectTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public static TheoryData<string, string> Ours => Rows.Cross(
        ["nginx", "apache", "lighttpd", "haproxy", "caddy"],
        "--json", "--tls", "--tls --path-base /shop", "--behind-balancer");

    public void Dispose() => _folder.Dispose();

    [Theory, MemberData(nameof(Ours))]
    public async Task OwnConfiguration_HasNoFinding(string server, string option)
    {
        foreach (var address in new[] { "/run/hello/app.sock", "127.0.0.1:9000" })
        {
            var (_, text, _) = await ToolRun.RunAsync(["config", server, "--address", address, .. option.Split(' ')]);
            if (option == "--json")
                text = System.Text.Json.JsonDocument.Parse(text).RootElement.GetProperty("text").GetString()!;
            await AssertCleanAsync(server, text, ": 0 problems, 0 notes\n");
        }
    }

    [Theory, MemberData(nameof(DoctorTable.GetRows), "nginx correct", MemberType = typeof(DoctorTable))]
    public Task Nginx_Configuration_HasNoProblem(string text)
    {
        _folder.Write("app.conf", Encoding.UTF8.GetBytes(
            "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param "
                + "QUERY_STRING $query_string; fastcgi_param CONTENT_TYPE $content_type;\n"
            + "fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param "
            + "HTTPS $https if_not_empty;\n"));
        return AssertCleanAsync("nginx", text, ": 0 problems, ");
    }

    [Theory, MemberData(nameof(DoctorTable.GetRows), "apache correct", MemberType = typeof(DoctorTable))]
    public Task Apache_Configuration_HasNoProblem(string text) => AssertCleanAsync(
        "apache", $"<VirtualHost *:80>\nServerName www.example.test\n{text}\n</VirtualHost>\n", ": 0 problems, ");

    [Theory, MemberData(nameof(DoctorTable.GetRows), "haproxy correct", MemberType = typeof(DoctorTable))]
    public Task HaProxy_Configuration_HasNoProblem(string text)
        => AssertCleanAsync(
            "haproxy",
            "global\n maxconn 500\ndefaults\n mode http\n option http-no-delay\n timeout server 300s\n" + text + "\n",
            ": 0 problems, ");

    [Theory, MemberData(nameof(DoctorTable.GetRows), "lighttpd correct", MemberType = typeof(DoctorTable))]
    public Task Lighttpd_Configuration_HasNoProblem(string text)
        => AssertCleanAsync(
            "lighttpd",
            "server.modules = (\"mod_fastcgi\", \"mod_setenv\")\nserver.stream-response-body = 1\n" + text + "\n",
            ": 0 problems, ");

    private async Task AssertCleanAsync(string server, string text, string expected)
    {
        var (code, output, error) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), "--no-connect");
        Assert.True(
            code == 0 && output.Contains(expected, StringComparison.Ordinal), $"{server} {code}\n{output}{error}");
        Assert.DoesNotContain("not checked", output, StringComparison.Ordinal);
    }
}
