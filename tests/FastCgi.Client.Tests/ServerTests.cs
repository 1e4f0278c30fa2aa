using System.Security.Cryptography;
using FastCgi.AspNetCore;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace FastCgi.Client.Tests;

/// <summary>The client against our server.</summary>
public sealed class ServerTests : IAsyncLifetime, IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();
    private WebApplication? _application;

    private ICollection<string> Addresses
        => _application!.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses;

    public async Task InitializeAsync()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseFastCgi(static options => options.Limits.MaxRequestBodySize = null);
        builder.WebHost.UseUrls($"fastcgi://unix:{_folder.GetPath("app.sock")}", "fastcgi://127.0.0.1:0");
        builder.Logging.ClearProviders().AddProvider(_logs);
        _application = builder.Build();
        _application.MapGet(
            "/",
            static (HttpContext context) =>
                $"{context.Request.Scheme} {context.Request.Host} {context.Request.QueryString} "
                    + $"{context.Connection.RemoteIpAddress}");
        _application.MapPost("/hash", static async (HttpContext context) => await context.Response.WriteAsync(
            Convert.ToHexString(await SHA256.HashDataAsync(context.Request.Body))));
        _application.MapPost(
            "/echo", static (HttpContext context) => context.Request.Body.CopyToAsync(context.Response.Body));
        await _application.StartAsync();
    }

    public async Task DisposeAsync()
    {
        await _application!.DisposeAsync();
        Assert.Empty(_logs.UnexpectedErrors.Select(static log => $"{log.Message} {log.Exception}"));
    }

    public void Dispose()
    {
        _folder.Dispose();
        _logs.Dispose();
    }

    [Theory, Values(false, true)]
    public async Task Requests_AtTheSameTime_GetTheirAnswers(bool keepsConnections)
    {
        foreach (var address in Addresses)
        {
            using var client = new HttpClient(new FastCgiHttpHandler(
                address, new FastCgiClientOptions { MaxConnections = 4, KeepConnections = keepsConnections }));
            var answers = Enumerable.Range(0, 200).Select(async i =>
            {
                Assert.Equal(
                    $"http example.com ?{i} 127.0.0.1", await client.GetStringAsync($"http://example.com/?{i}"));
                using var echo = await client.PostAsync("http://example.com/echo", new StringContent($"body {i}"));
                Assert.Equal($"body {i}", await echo.Content.ReadAsStringAsync());
            });
            await Task.WhenAll(answers).Within("the answers");
        }
    }

    [Fact]
    public async Task Body_Large_StreamsBothWays()
    {
        var body = new byte[20_000_000];
        new Random(1).NextBytes(body);
        using var client = new HttpClient(new FastCgiHttpHandler(Addresses.First()));
        using var hash = await client.PostAsync("http://example.com/hash", new ByteArrayContent(body))
            .Within("the hash");
        Assert.Equal(System.Net.HttpStatusCode.OK, hash.StatusCode);
        Assert.Equal(Convert.ToHexString(SHA256.HashData(body)), await hash.Content.ReadAsStringAsync());

        // The body exceeds all buffers, so it must stream in both directions at once.
        using var echo = await client.PostAsync("http://example.com/echo", new StreamContent(new MemoryStream(body)))
            .Within("the echo");
        Assert.Equal(body, await echo.Content.ReadAsByteArrayAsync());
    }
}
