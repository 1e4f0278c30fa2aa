namespace FastCgi.Tool.Tests;

/// <summary>Configurations and arguments: each has one mistake, or none.</summary>
public sealed class DoctorCaseTests : IDisposable
{
    private const string Usual = "include fastcgi_params; fastcgi_read_timeout 2m; ";
    private const string Pass = "fastcgi_pass unix:/run/app/app.sock; ";

    private readonly ScratchFolder _folder = new();

    /// <summary>The cases of <c>DoctorCases.tsv</c>, which explains its form.</summary>
    public static TheoryData<int, string, string, string[]> Cases
    {
        get
        {
            var cases = new TheoryData<int, string, string, string[]>();
            var words = new Dictionary<string, string>(StringComparer.Ordinal);
            var site = new string[3];
            var file = Path.Combine(AppContext.BaseDirectory, "DoctorCases.tsv");
            foreach (var (index, line) in File.ReadLines(file).Index())
            {
                var row = line.Replace("\\n", "\n").Split('\t');
                if (row[0] == "site")
                    site = row;
                else if (row[0] == "let")
                    words.Add(row[1], row[2]);
                else if (!line.StartsWith('#'))
                    cases.Add(index + 1, site[1], Change(site[2], Fill(row[0])), row[1..]);
            }

            return cases;

            string Fill(string text)
                => Regex.Replace(text, @"\b[A-Z]+\b", word => words.GetValueOrDefault(word.Value, word.Value));
            static string Change(string site, string text)
                => site.Contains("{case}")
                    ? site.Replace("{case}", text)
                    : site.Replace(text.Split(" ~> ")[0], text.Split(" ~> ")[1]);
        }
    }

    public static TheoryData<string, string> Ours => Rows.Cross(
        ["nginx", "apache", "lighttpd", "haproxy", "caddy"],
        "--json", "--tls", "--tls --client-certificates", "--tls --path-base /shop", "--behind-balancer");

    public void Dispose() => _folder.Dispose();

    [Theory, MemberData(nameof(Cases))]
    public async Task Configuration_HasTheseFindings(int line, string server, string text, string[] expected)
    {
        _folder.Write("app.conf", Encoding.UTF8.GetBytes(
            "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param "
                + "QUERY_STRING $query_string; fastcgi_param CONTENT_TYPE $content_type;\n"
                + "fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_ADDR $remote_addr; "
                + "fastcgi_param HTTPS $https if_not_empty;\n"));
        var output = await RunAsync(server, text);
        var lines = output.Split('\n');
        var actual = lines.Index()
            .Where(static line => line.Item.StartsWith("problem ", StringComparison.Ordinal)
                || line.Item.StartsWith("note ", StringComparison.Ordinal))
            .Select(line => $"{line.Item.Split("  ")[0]} {lines[line.Index + 1]}")
            .Concat(lines.Where(static line => line.StartsWith("not checked: ", StringComparison.Ordinal)))
            .ToList();

        Assert.True(actual.Count == expected.Length, $"DoctorCases.tsv:{line}\n{output}");
        Assert.All(expected, finding => Assert.Contains(actual, found => IsFound(found, finding.Split(' ', 3))));
        Assert.DoesNotMatch(@"  (effect|fix)  +\n", output);
    }

    [Theory, MemberData(nameof(Ours))]
    public async Task OwnConfiguration_HasNoFinding(string server, string option)
    {
        foreach (var address in new[] { "/run/hello/app.sock", "127.0.0.1:9000" })
        {
            var (_, text, _) = await ToolRun.RunAsync(["config", server, "--address", address, .. option.Split(' ')]);
            if (option == "--json")
                text = JsonDocument.Parse(text).RootElement.GetProperty("text").GetString()!;
            var (code, output, error) = await ToolRun.RunAsync("doctor", Write(text), "--no-connect");
            Assert.True(
                code == 0 && output.EndsWith(": 0 problems, 0 notes\n", StringComparison.Ordinal), output + error);
        }
    }

    /// <summary>
    /// The advice about a line that was left over from <c>proxy_pass</c> must not let clients choose their address.
    /// </summary>
    [Theory]
    [InlineData("X-Forwarded-For $proxy_add_x_forwarded_for")]
    [InlineData("X-Forwarded-Proto $scheme")]
    [InlineData("x-forwarded-host $host")]
    [InlineData("Forwarded for=$remote_addr")]
    [InlineData("X-Real-IP $remote_addr")]
    [InlineData("X-Scheme $scheme")]
    [InlineData("X-Anything $remote_addr")]
    [InlineData("Proxy \"\"")]
    [InlineData("Host $host")]
    public async Task Nginx_LeftoverHeader_IsToBeRemoved(string header)
    {
        var output = await RunAsync("nginx", $"server {{ location / {{ {Usual}proxy_set_header {header}; {Pass}}} }}");

        Assert.Contains("note proxy-directive  ", output);
        Assert.Contains("  fix     # remove this line", output);
        Assert.DoesNotContain("fastcgi_param HTTP_", output);
    }

    /// <summary>The advised line is valid: an unknown directive would keep nginx from starting.</summary>
    [Theory]
    [InlineData("proxy_http_version 1.1", "# remove this line: there is no fastcgi_http_version")]
    [InlineData("proxy_redirect off", "# remove this line: there is no fastcgi_redirect")]
    [InlineData("proxy_read_timeout 100s", "fastcgi_read_timeout 100s;")]
    [InlineData("proxy_cache_key \"$uri x\"", "fastcgi_cache_key \"$uri x\";")]
    [InlineData("proxy_set_header Accept-Encoding \"\"", "fastcgi_param HTTP_ACCEPT_ENCODING \"\";")]
    [InlineData("proxy_set_header Content-Type a/b", "fastcgi_param CONTENT_TYPE a/b;")]
    [InlineData("grpc_set_header X-A b", "fastcgi_param HTTP_X_A b;")]
    public async Task Nginx_LeftoverLine_IsTranslated(string line, string advised)
    {
        var output = await RunAsync("nginx", $"server {{ location / {{ {Usual}{line}; {Pass}}} }}");

        Assert.Contains($"  fix     {advised}\n", output);
    }

    [Theory]
    [InlineData("/x/site.conf", 2, "'/x/site.conf' does not exist")]
    [InlineData("/etc", 2, "'/etc' is a folder")]
    [InlineData("/run/nowhere/site.conf", 2, "'/run/nowhere/site.conf' does not exist")]
    [InlineData("/nowhere/app.sock", 1, "problem no-socket")]
    [InlineData("unix:/x/site", 1, "problem no-socket")]
    [InlineData("unix:/etc", 1, "problem no-socket")]
    public async Task Path_WithoutAFile_IsNamed(string target, int code, string message)
    {
        var (actual, output, error) = await ToolRun.RunAsync("doctor", target);

        Assert.Equal(code, actual);
        Assert.Contains(message, output + error);
    }

    [Theory]
    [InlineData("Shopping list\n- milk\nserver room key, include the spare one\n",
        "does not look like a configuration of ")]
    [InlineData("{\"apps\":{\"http\":{\"servers\":{}}}}", "does not look like a configuration of ")]
    [InlineData(" \n", "is empty.")]
    [InlineData("\uFEFFs\0e\0r\0v\0e\0r\0 \0{\0\n\0", "is not a text file.")]
    [InlineData("<?php\ninclude 'header.php';\necho 1;\n", "has no fastcgi_pass.")]
    [InlineData("Things to do\ninclude the spare key;\nserver {\n", "has no fastcgi_pass.")]
    [InlineData("\u007fELF\0\0server {\n", "is not a text file.")]
    [InlineData("server { location / { proxy_pass http://127.0.0.1:1; } }", "has no fastcgi_pass.")]
    [InlineData(":80 {\nreverse_proxy 127.0.0.1:1\n}\n", "has no php_fastcgi and no 'transport fastcgi'.")]
    [InlineData("listen a\n bind :80\n server s 127.0.0.1:1\n", "has no server with 'proto fcgi'.")]
    [InlineData("server.document-root = \"/srv\"\n", "has no fastcgi.server.")]
    [InlineData("proxy.server = (\"/\" => ((\"port\" => 1)))\nserver.port = 80\n", "has no fastcgi.server.")]
    public async Task File_WithoutFastCgi_IsNotChecked(string text, string message)
    {
        var (code, output, error) = await ToolRun.RunAsync("doctor", Write(text), "--no-connect");

        Assert.Equal((3, ""), (code, output));
        Assert.Contains(message, error);
    }

    /// <summary>Configurations from the field.</summary>
    [Theory]
    [InlineData("apache-error-pages-beside-scripts.conf")]
    [InlineData("apache-everyone-is-a-balancer.conf", "problem client-chosen", "problem client-chosen")]
    [InlineData("lighttpd-script-prefix.conf")]
    [InlineData("nginx-abstract.conf", "problem abstract-socket")]
    [InlineData("nginx-cache-by-foreign-cookies.conf", "problem cache-shared")]
    [InlineData("nginx-client-chooses-address.conf", "problem client-chosen")]
    [InlineData("nginx-client-chooses-scheme.conf", "problem client-chosen")]
    [InlineData("nginx-front-page-is-a-folder.conf", "problem front-page")]
    [InlineData("nginx-quic-without-host.conf", "problem parameter-missing")]
    [InlineData("nginx-static-by-extension.conf", "note static-files")]
    public async Task FieldCase_HasTheseFindings(string name, params string[] expected)
    {
        var (_, output, _) = await ToolRun.RunAsync(
            "doctor", Path.Combine(AppContext.BaseDirectory, "FieldCases", name), "--no-connect");

        var findings = Regex.Matches(output, "^(problem|note) [a-z-]+", RegexOptions.Multiline)
            .Select(static match => match.Value).Except(["note read-timeout"]);
        Assert.Equal(expected.Distinct(), findings.Distinct());
    }

    /// <summary>The <c>fastcgi_params</c> of this machine may differ from that of the other one.</summary>
    [Theory]
    [InlineData("fastcgi_params")]
    [InlineData("/etc/nginx/fastcgi_params")]
    public async Task Nginx_FileOfAnotherMachine_IsNotTakenFromThisOne(string file)
    {
        var output = await RunAsync("nginx", $"server {{ listen 8080; location / {{ include {file}; {Pass}}} }}");

        Assert.Contains($"{file}: the copy of nginx.org was read", output);
        Assert.Contains(": 0 problems, ", output);
    }

    [Fact]
    public async Task Address_WithoutConnecting_IsNotChecked()
    {
        var (_, output, _) = await ToolRun.RunAsync("doctor", "127.0.0.1:1", "--no-connect");

        Assert.Contains("0 problems, 0 notes, 1 not checked\n", output);
    }

    private string Write(string text) => _folder.Write("site.conf", Encoding.UTF8.GetBytes(text));

    private async Task<string> RunAsync(string server, string text)
    {
        var (_, output, error) = await ToolRun.RunAsync("doctor", Write(text), "--server", server, "--no-connect");
        return output + error;
    }

    private static bool IsFound(string line, string[] finding)
        => line.StartsWith($"{finding[0]} {finding[1]}", StringComparison.Ordinal)
            && line.Contains(finding[2]);
}
