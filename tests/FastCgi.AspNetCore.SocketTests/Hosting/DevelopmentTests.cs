namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Typical development setups work, and impossible ones fail with a reason.</summary>
[Collection(Alone.Name)]
public sealed class DevelopmentTests : HostTest
{
    private const string AnyHttpPort = "http://127.0.0.1:0";

    /// <summary>The settings of the README, and the http address of launchSettings.json.</summary>
    [Theory]
    [InlineData(
        """{ "Url": "fastcgi://unix:/run/absent/app.sock" }""", "the folder of the socket does not exist")]
    [InlineData("""{ "Url": "fastcgi://192.0.2.1:9000" }""", "this machine does not have the address")]
    [InlineData(
        """{ "Url": "fastcgi://unix:app.sock", "Group": "absent-group" }""", "the group 'absent-group' does not exist")]
    public async Task Development_EndpointOfProduction_HttpIsServedWithoutIt(string endpoint, string reason)
    {
        endpoint = endpoint.Replace("unix:app.sock", $"unix:{SocketPath}");
        await WriteSettingsAsync($$"""{ "FastCgi": { "Endpoints": { "Main": {{endpoint}} } } }""");
        await using var app = Build("--urls", AnyHttpPort, "--environment", "Development");

        await app.StartAsync();

        using var client = new HttpClient();
        Assert.Equal("Hello", await client.GetStringAsync(new Uri(Assert.Single(app.Urls))));
        var warning = Assert.Single(
            Logs.All, static log => log is { Level: LogLevel.Warning, EventName: "EndpointLeftOut" }).Message;
        Assert.Contains(reason, warning);
        Assert.Contains("FastCgi:Endpoints:Main", warning);
    }

    /// <summary>In production, without HTTP, or with an explicit address.</summary>
    [Theory]
    [InlineData("Production", AnyHttpPort, true)]
    [InlineData("Development", "", true)]
    [InlineData("Development", AnyHttpPort + ";fastcgi://unix:/run/absent/app.sock", false)]
    public async Task UnusableEndpoint_OutsideDevelopmentOrWithoutHttp_Fails(
        string environment, string urls, bool isConfigured)
    {
        if (isConfigured)
            await WriteSettingsAsync("""
                { "FastCgi": { "Endpoints": { "Main": { "Url": "fastcgi://unix:/run/absent/app.sock" } } } }
                """);
        await using var app = Build("--urls", urls, "--environment", environment);

        await Assert.ThrowsAsync<IOException>(() => app.StartAsync());
    }

    [Theory, Values("fastcgi://127.0.0.1:9009", "fastcgi://unix:/run/absent/app.sock", "fastcgi://fd:77")]
    public async Task Endpoints_WithOneAddress_ErrorNamesBoth(string address)
    {
        await WriteSettingsAsync($$"""
            { "FastCgi": { "Endpoints": { "Main": { "Url": "{{address}}" } } } }
            """);
        await using var app = Build("--urls", address);

        var error = await Assert.ThrowsAsync<IOException>(() => app.StartAsync());

        Assert.Contains("FastCgi:Endpoints:Main", error.Message);
        Assert.Contains("urls", error.Message);
    }

    /// <summary>Installed web servers are logged only in development.</summary>
    [Fact]
    public async Task Production_SendFileFolderIsAbsent_IsLogged()
    {
        var folder = Folder.GetPath("files");
        await WriteSettingsAsync($$"""
            { "FastCgi": { "SendFile": { "Roots": {
                "Files": { "Path": "{{folder}}", "Location": "/files/" }, "Here": { "Path": "{{Folder.Path}}" } } } } }
            """);
        await using var app = await StartAsync("--urls", "fastcgi://127.0.0.1:0");

        Assert.DoesNotContain(Logs.All, static log => log.EventName == "WebServerFound");
        var warning = Assert.Single(
            Logs.All, static log => log is { Level: LogLevel.Warning, EventName: "SendFileFolderMissing" }).Message;
        Assert.Contains(folder, warning);
        Assert.Contains("FastCgi:SendFile:Roots", warning);
    }
}
