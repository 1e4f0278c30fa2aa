using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;

namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>A Kestrel that reports how it parsed a request line.</summary>
public sealed class KestrelOracle : IAsyncLifetime
{
    private WebApplication? _application;
    private IPEndPoint? _endPoint;

    public async Task InitializeAsync()
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(static options => options.Listen(IPAddress.Loopback, 0));
        _application = builder.Build();
        _application.Run(static context =>
        {
            var request = context.Features.GetRequiredFeature<IHttpRequestFeature>();
            string[] lines = [request.Method, request.PathBase, request.Path, request.QueryString, request.RawTarget];
            return context.Response.WriteAsync(
                string.Join('\n', lines.Select(static line => Convert.ToBase64String(Encoding.UTF8.GetBytes(line)))));
        });
        await _application.StartAsync();
        _endPoint = new IPEndPoint(IPAddress.Loopback, new Uri(_application.Urls.Single()).Port);
    }

    public async Task DisposeAsync()
    {
        if (_application is not null)
            await _application.DisposeAsync();
    }

    /// <summary>
    /// Sends a request line of a method and a target, and returns the status of the answer and what the application
    /// saw.
    /// </summary>
    /// <param name="host">The host, which the authority of a target must agree with.</param>
    public async Task<KestrelAnswer> AskAsync(string method, string target, string host = "h")
    {
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(_endPoint!);
        await socket.SendAsync(Encoding.Latin1.GetBytes(
            $"{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));

        using var answer = new MemoryStream();
        await using var stream = new NetworkStream(socket);
        await stream.CopyToAsync(answer);
        var text = Encoding.Latin1.GetString(answer.ToArray());
        var status = int.Parse(text.AsSpan("HTTP/1.1 ".Length, 3), System.Globalization.CultureInfo.InvariantCulture);
        if (status != StatusCodes.Status200OK)
            return new KestrelAnswer(status);

        var body = text[(text.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];
        if (text.Contains("Transfer-Encoding: chunked", StringComparison.OrdinalIgnoreCase))
            body = body[(body.IndexOf("\r\n", StringComparison.Ordinal) + 2)..body.LastIndexOf(
                "\r\n0\r\n", StringComparison.Ordinal)];

        var lines = body.Split('\n')
            .Select(static line => Encoding.UTF8.GetString(Convert.FromBase64String(line))).ToArray();
        return new KestrelAnswer(status, lines[0], lines[1], lines[2], lines[3], lines[4]);
    }
}

public sealed record KestrelAnswer(
    int Status, string Method = "", string PathBase = "", string Path = "", string QueryString = "",
    string RawTarget = "");
