using System.Text;
using System.Text.RegularExpressions;

namespace FastCgi.Tool.Tests;

/// <summary>Wrong configurations, each with the sentence that explains it.</summary>
public sealed class DoctorMistakeTests : IDisposable
{
    private const string Apache =
        "<VirtualHost *:80>\nServerName a\n<Location />\nCGIPassAuth On\n</Location>\n"
            + "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on timeout=120\n</VirtualHost>\n";
    private const string HaProxy =
        "fcgi-app a\n docroot /\n pass-header Authorization\nfrontend f\n bind :80\n option http-no-delay\n"
            + " default_backend b\nbackend b\n use-fcgi-app a\n timeout server 2m\n"
            + " server s 127.0.0.1:9000 proto fcgi\n";
    private const string Lighttpd =
        "server.modules = (\"mod_fastcgi\")\nserver.stream-response-body = 1\n"
            + "fastcgi.server = (\"/\" => ((\"port\" => 9000, \"check-local\" => \"disable\")))\n";
    private const string AllParameters =
        "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param "
            + "CONTENT_LENGTH $content_length; "
        + "fastcgi_param CONTENT_TYPE $content_type; fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param "
        + "QUERY_STRING $query_string; fastcgi_param HTTPS $https;";

    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    /// <summary>What is added to a location that is otherwise correct.</summary>
    [Theory, MemberData(nameof(DoctorTable.GetRows), "nginx location", MemberType = typeof(DoctorTable))]
    [InlineData(
        "fastcgi_param HTTP_AUTHORIZATION \"\";", "problem authorization-dropped: fastcgi_param HTTP_AUTHORIZATION ")]
    [InlineData("fastcgi_param HTTP_HOST \"\";", "problem host-missing: fastcgi_param HTTP_HOST ")]
    public Task Nginx_LineInALocation_IsExplained(string line, string expected)
        => AssertFoundAsync(
            "nginx",
            $"server {{ listen 80; location / {{\n {AllParameters} fastcgi_read_timeout 2m; {line}\n "
                + "fastcgi_pass 127.0.0.1:9000; } }",
            expected);

    [Theory, MemberData(nameof(DoctorTable.GetRows), "nginx parameter", MemberType = typeof(DoctorTable))]
    public Task Nginx_ParameterOfAList_IsMissed(string name, string expected)
        => AssertFoundAsync(
            "nginx",
            $"server {{ location / {{ {AllParameters.Replace(name + " ", "OTHER ", StringComparison.Ordinal)} "
                + "fastcgi_pass 127.0.0.1:9000; } }",
            expected);

    [Theory, MemberData(nameof(DoctorTable.GetRows), "nginx server", MemberType = typeof(DoctorTable))]
    [InlineData(
        "include fastcgi_params; location / { fastcgi_param A b; fastcgi_pass 127.0.0.1:9000; }",
        "problem params-missing: the fastcgi_param in line 1 disables those inherited from ")]
    public Task Nginx_Server_IsExplained(string server, string expected)
        => AssertFoundAsync("nginx", $"server {{ {server} }}", expected);

    [Theory, MemberData(nameof(DoctorTable.GetRows), "apache", MemberType = typeof(DoctorTable))]
    public Task Apache_Mistake_IsExplained(string right, string wrong, string expected)
    {
        const string Balancer =
            "<Proxy balancer://a>\nBalancerMember fcgi://127.0.0.1:9000\nBalancerMember fcgi://127.0.0.1:9001\n"
                + "</Proxy>\n";
        return AssertReplacedAsync(
            "apache", Apache, right, wrong.StartsWith("balancer", StringComparison.Ordinal) ? Balancer : "", wrong,
            expected);
    }

    [Theory, MemberData(nameof(DoctorTable.GetRows), "haproxy", MemberType = typeof(DoctorTable))]
    public Task HaProxy_Mistake_IsExplained(string right, string wrong, string expected)
        => AssertReplacedAsync("haproxy", HaProxy, right, "", wrong, expected);

    [Theory, MemberData(nameof(DoctorTable.GetRows), "lighttpd", MemberType = typeof(DoctorTable))]
    public Task Lighttpd_Mistake_IsExplained(string right, string wrong, string expected)
        => AssertReplacedAsync("lighttpd", Lighttpd, right, "", wrong, expected);

    private Task AssertReplacedAsync(
        string server, string text, string right, string before, string wrong, string expected)
    {
        Assert.Contains(right, text, StringComparison.Ordinal);
        var at = text.IndexOf(right, StringComparison.Ordinal);
        return AssertFoundAsync(server, before + text[..at] + wrong + text[(at + right.Length)..], expected, text);
    }

    private async Task AssertFoundAsync(string server, string wrong, string expected, string? right = null)
    {
        var file = _folder.GetPath("site.conf");
        expected = expected.Replace("FILE", file, StringComparison.Ordinal);
        var pattern = expected.StartsWith("not checked", StringComparison.Ordinal)
            ? "^" + Regex.Escape(expected)
            : Regex.Replace(Regex.Escape(expected), @"^(problem|note)\\ ([a-z-]+):\\ ", @"^$1 $2  .*\n  seen  ");
        var (_, output, error) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(wrong)), "--server", server, "--no-connect");

        Assert.True(Regex.IsMatch(output, pattern, RegexOptions.Multiline), $"{pattern}\n{output}{error}");
        Assert.DoesNotMatch(@"  (then|add)  +\n", output);
        if (right is null)
            return;
        (_, output, _) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(right)), "--server", server, "--no-connect");
        Assert.EndsWith(": 0 problems, 0 notes\n", output, StringComparison.Ordinal);
    }
}
