using System.Security.Cryptography.X509Certificates;
using FastCgi.Tool.Commands.Configuration;

namespace FastCgi.Tool.Tests;

/// <summary><c>config</c> writes what the documents show.</summary>
public sealed class ConfigCommandTests
{
    [Theory, Values("nginx", "apache", "lighttpd", "haproxy", "caddy")]
    public async Task Configuration_EachKind_EqualsTheDocument(string kind)
    {
        var document = new FrontEndDocument(kind);
        foreach (var (heading, option) in new[]
        {
            (FrontEndDocument.Smallest, Array.Empty<string>()),
            (FrontEndDocument.Full, ["--tls", "--client-certificates"]),
            (FrontEndDocument.BehindBalancer, ["--behind-balancer"]),
        })
        {
            var (code, text, _) = await ToolRun.RunAsync(["config", kind, .. option]);

            Assert.Equal(0, code);
            Assert.Contains($"## {heading}\n", document.Text);
            Assert.Contains($"\n```{kind}\n{ToOldest(text)}```\n", document.Text);
        }
    }

    /// <summary>Later versions warn about the directives in the document, and earlier ones reject the others.</summary>
    [Theory]
    [InlineData("nginx", "1.25.0", "1.25.1", "    listen 443 ssl;\n    http2 on;\n")]
    [InlineData("caddy", "2.6.2", "2.7", "env PATH_BASE {args[0]}\n")]
    [InlineData("caddy", "2.7.6", "2.8", "\t\t\ttrust_pool file /etc/ssl/hello/client-ca.pem\n")]
    public void For_AVersion_HasItsDirectives(string kind, string before, string since, string lines)
    {
        var template = ConfigurationTemplate.Read(kind, usesTls: true, isBehindBalancer: false);

        Assert.Equal(template, template.For(null));
        Assert.DoesNotContain(lines, template.For(Version.Parse(before)).Text);
        Assert.Contains(lines, template.For(Version.Parse(since)).Text);
        Assert.Equal(template.Text, ToOldest(template.For(new Version(99, 0)).Text));
    }

    /// <summary>The line against header names with underscores is there, in lighttpd as a comment.</summary>
    [Theory]
    [InlineData("caddy", "\trequest_header -*_*\n")]
    [InlineData("lighttpd", "\n#magnet.attract-raw-url-to = (\"/etc/lighttpd/headers.lua\")\n")]
    public async Task Configuration_HasTheLineAgainstUnderscores(string kind, string line)
    {
        foreach (var option in new string[][] { [], ["--tls"], ["--behind-balancer"] })
            Assert.Contains(line, (await ToolRun.RunAsync(["config", kind, .. option])).Out);
    }

    [Theory]
    [InlineData("nginx", "127.0.0.1:9007", "fastcgi_pass 127.0.0.1:9007;")]
    [InlineData("nginx", "/run/shop/s.sock", "fastcgi_pass unix:/run/shop/s.sock;")]
    [InlineData("apache", "127.0.0.1:9007", "\"fcgi://127.0.0.1:9007/\"")]
    [InlineData("apache", "/run/shop/s.sock", "\"unix:/run/shop/s.sock|fcgi://hello/\"")]
    [InlineData("lighttpd", "127.0.0.1:9007", "\"host\" => \"127.0.0.1\",\n    \"port\" => 9007,")]
    [InlineData("haproxy", "127.0.0.1:9007", "server app 127.0.0.1:9007 proto fcgi")]
    [InlineData("haproxy", "/run/shop/s.sock", "server app unix@/run/shop/s.sock proto fcgi")]
    [InlineData("caddy", "127.0.0.1:9007", "reverse_proxy 127.0.0.1:9007 {")]
    [InlineData("caddy", "/run/shop/s.sock", "reverse_proxy unix//run/shop/s.sock {")]
    [InlineData("systemd", "127.0.0.1:9007", "Environment=FastCgi__Endpoints__Web__Url=fastcgi://127.0.0.1:9007\n")]
    [InlineData("systemd", "/run/shop/s.sock", "RuntimeDirectory=shop\n")]
    public async Task Address_Given_ReplacesTheDocuments(string kind, string address, string expected)
    {
        foreach (var option in kind == "systemd" ? [[]] : new string[][] { [], ["--tls"], ["--behind-balancer"] })
        {
            var (code, text, _) = await ToolRun.RunAsync(["config", kind, "--address", address, .. option]);

            Assert.Equal(0, code);
            Assert.Contains(
                option is ["--tls"] && kind == "nginx"
                    ? expected.Replace("fastcgi_pass", "server")
                    : expected,
                text);
            Assert.DoesNotContain("/run/hello", text);
            Assert.DoesNotContain("9000", text);
            Assert.DoesNotContain("/run/app", text);
        }
    }

    /// <summary>Two sites in one nginx start: each has its own upstream, and neither needs an authority.</summary>
    [Fact]
    public async Task Nginx_TwoSitesWithTls_AreValid()
    {
        using var folder = new ScratchFolder();
        using var certificates = new Certificates();
        using var certificate = certificates.CreateServer("a.test");
        await File.WriteAllTextAsync(folder.GetPath("certificate.pem"), certificate.ExportCertificatePem());
        await File.WriteAllTextAsync(
            folder.GetPath("key.pem"), certificate.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem());
        File.Copy(Programs.NginxParameters, folder.GetPath("fastcgi_params"));
        var sites = "";
        foreach (var name in new[] { "a.test", "b.test" })
        {
            var (_, text, _) = await ToolRun.RunAsync(
                "config", "nginx", "--tls", "--name", name, "--address", $"/run/{name}/app.sock");
            sites += text.Replace($"/etc/ssl/{name}", folder.Path)
                .Replace("listen 80;", "listen 8080;")
                .Replace("listen 443 ", "listen 8443 ");
        }

        var configuration = folder.Write(
            "nginx.conf", Encoding.UTF8.GetBytes($"pid nginx.pid;\nevents {{}}\nhttp {{\n{sites}}}\n"));

        await using var nginx = ServerProcess.Start(
            "nginx", ["-t", "-q", "-p", folder.Path, "-e", "error.log", "-c", configuration], folder.Path);
        Assert.True(await nginx.WaitForExitAsync(Waiting.Patience) == 0, nginx.Output);
    }

    [Theory, Values("nginx", "apache", "lighttpd", "haproxy", "caddy")]
    public async Task Tls_WithoutClientCertificates_NamesNoAuthority(string kind)
    {
        var (_, text, _) = await ToolRun.RunAsync("config", kind, "--tls");
        var (_, full, _) = await ToolRun.RunAsync("config", kind, "--tls", "--client-certificates");

        Assert.DoesNotMatch("(?i)client.(ca|cert|verify)|verify.?client|client_auth|SSLOptions", text);
        Assert.Equal(full.Count('{') - full.Count('}'), text.Count('{') - text.Count('}'));
        Assert.Contains("certificate", text);
    }

    /// <summary>A user that two applications share could read the keys of both.</summary>
    [Theory]
    [InlineData("shop", "/run/shop/app.sock", "--address", "/run/shop/app.sock")]
    [InlineData("shop", "/run/shop/app.sock", "--name", "shop")]
    [InlineData("shop", "/run/web/s.sock", "--name", "shop", "--address", "/run/web/s.sock")]
    [InlineData("shop", "127.0.0.1:9007", "--name", "shop", "--address", "127.0.0.1:9007")]
    public async Task Systemd_EachApplication_HasItsOwnUserAndFolders(
        string name, string address, params string[] options)
    {
        var (_, text, _) = await ToolRun.RunAsync(["config", "systemd", .. options]);

        foreach (var line in new[]
        {
            $"# useradd --system --home-dir /var/lib/{name} --shell /usr/sbin/nologin {name}\n", $"\nUser={name}\n",
            $"\nStateDirectory={name}\n", $"\nExecStart=/srv/{name}/{name}\n", $"\nWorkingDirectory=/srv/{name}\n",
        })
            Assert.Contains(line, text);
        var url = address[0] == '/' ? $"unix:{address}" : address;
        Assert.Contains($"_Url=fastcgi://{url}\n", text);
        var folder = address.Split('/') is [.., var last, _] ? $"\nRuntimeDirectory={last}\n" : "";
        Assert.Contains(folder, text);
        Assert.DoesNotMatch(@"\bapp\b(?!\.sock)", text);
    }

    /// <summary>Otherwise, the journal takes warnings for information.</summary>
    [Fact]
    public async Task Systemd_Unit_WritesLevelsForTheJournal() => Assert.Contains(
        "\nEnvironment=Logging__Console__FormatterName=systemd\n",
        (await ToolRun.RunAsync("config", "systemd")).Out);

    [Fact]
    public async Task NameAndPathBase_Given_ReplaceTheDocuments()
    {
        foreach (var kind in new[] { "nginx", "apache", "lighttpd", "haproxy", "caddy" })
        {
            var (_, text, _) = await ToolRun.RunAsync(
                "config", kind, "--tls", "--name", "shop.test", "--path-base", "/shop", "--address", "/run/s/s.sock");

            Assert.Contains("/shop", text);
            Assert.DoesNotContain("hello", text);
            Assert.DoesNotMatch(@"[ ""^]/app\b(?!\.)", text);
        }
    }

    /// <summary>Both files, on standard output or in a folder, where none is overwritten.</summary>
    [Fact]
    public async Task Htaccess_WritesTheFilesOfTheDocument()
    {
        var htaccess = await DocumentBlock.ReadAsync("shared-hosting.md", "htaccess") + "\n";
        var wrapper = await DocumentBlock.ReadAsync("shared-hosting.md", "wrapper") + "\n";
        Assert.Equal(htaccess + "\n" + wrapper, (await ToolRun.RunAsync("config", "htaccess")).Out);

        using var folder = new ScratchFolder();
        string[] command = ["config", "htaccess", "--program", "Shop.Web", "--output", folder.Path];
        var (code, text, _) = await ToolRun.RunAsync(command);

        Assert.Equal(0, code);
        Assert.Equal($"{folder.GetPath(".htaccess")}\n{folder.GetPath("Shop.Web.fcgi")}\n", text);
        Assert.Equal(htaccess.Replace("hello", "Shop.Web"), await File.ReadAllTextAsync(folder.GetPath(".htaccess")));
        Assert.Equal(
            wrapper.Replace("hello", "Shop.Web"),
            await File.ReadAllTextAsync(folder.GetPath("Shop.Web.fcgi")));
        if (!OperatingSystem.IsWindows())
            Assert.True(File.GetUnixFileMode(folder.GetPath("Shop.Web.fcgi")).HasFlag(UnixFileMode.UserExecute));
        Assert.Equal(3, (await ToolRun.RunAsync(command)).Code);
    }

    [Theory]
    [InlineData("htaccess does not support --tls.", "htaccess", "--tls")]
    [InlineData("htaccess does not support --address.", "htaccess", "--address", "127.0.0.1:9000")]
    [InlineData("--output requires htaccess.", "nginx", "--output", ".")]
    [InlineData("'../x' is not a file name.", "htaccess", "--program", "../x")]
    public async Task OptionsOfAnotherKind_AreErrors(string expected, params string[] arguments)
    {
        var (code, _, error) = await ToolRun.RunAsync(["config", .. arguments]);

        Assert.Equal(2, code);
        Assert.Contains(expected, error);
    }

    /// <summary>The directives that each version accepts.</summary>
    private static string ToOldest(string text)
        => Regex.Replace(Regex.Replace(text, @" ssl;\n +http2 on;", " ssl http2;"), @"\{args\[(\d)\]\}", "{args.$1}")
            .Replace("trust_pool file", "trusted_ca_cert_file");
}
