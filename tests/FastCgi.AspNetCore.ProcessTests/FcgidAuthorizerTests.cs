using System.Net.Http.Headers;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>
/// mod_fcgid starts the application as an authorizer and uses its three roles, with the configuration in
/// samples/Authorizer.
/// </summary>
public sealed class FcgidAuthorizerTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    [Fact]
    public async Task AccessChecker_KeyInTheQuery_DecidesWhetherTheFileIsServed()
    {
        await using var server = await StartAsync();

        Assert.Equal("a checked file", await server.GetAsync("/checked/file.txt?key=secret"));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(server, "/checked/file.txt", user: null));
    }

    [Fact]
    public async Task AuthenticatorAndAuthorizer_UserAndPath_DecideWhetherTheFileIsServed()
    {
        await using var server = await StartAsync();
        Assert.Equal("an open page", await server.GetAsync("/open.txt"));

        Assert.Equal(HttpStatusCode.OK, await GetStatusAsync(server, "/reports/open.txt", "ann:secret"));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(server, "/reports/open.txt", user: null));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(server, "/reports/open.txt", "ann:wrong"));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(server, "/reports/closed.txt", "ann:secret"));
    }

    public void Dispose() => _folder.Dispose();

    private async Task<SpawningServer> StartAsync()
    {
        foreach (var (path, content) in new[]
        {
            ("open.txt", "an open page"), ("checked/file.txt", "a checked file"),
            ("reports/open.txt", "an open report"), ("reports/closed.txt", "a closed report"),
        })
        {
            var file = Path.Combine(_folder.Path, "html", path);
            Directory.CreateDirectory(Path.GetDirectoryName(file)!);
            await File.WriteAllTextAsync(file, content);
        }

        const string Configuration = "apache-fcgid.conf";
        var text = await DocumentBlock.ReadFileAsync(
            $"samples/Authorizer/{Configuration}",
            ("127.0.0.1:8080", "127.0.0.1:{{port}}"),
            ("/run/apache2", "{{folder}}/run"),
            ("/srv/www/html", "{{folder}}/html"),
            ("/srv/guard/Guard", "{{folder}}/app/ApplicationToStart"),
            ("/usr/share/dotnet", "{{dotnet}}"));
        return await SpawningServer.StartApacheAsync(_folder, Configuration, text);
    }

    private static async Task<HttpStatusCode> GetStatusAsync(SpawningServer server, string path, string? user)
    {
        using var client = new HttpClient { BaseAddress = server.Address, Timeout = Waiting.Patience };
        if (user is not null)
            client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue(
                "Basic", Convert.ToBase64String(Encoding.ASCII.GetBytes(user)));
        using var response = await client.GetAsync(path);
        return response.StatusCode;
    }
}
