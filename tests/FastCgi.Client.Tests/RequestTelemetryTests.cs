using System.Diagnostics;
using System.Diagnostics.Metrics;
using FastCgi.AspNetCore;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace FastCgi.Client.Tests;

/// <summary>What a listener sees of a request is what it sees with <see cref="SocketsHttpHandler"/>.</summary>
public sealed class RequestTelemetryTests : IAsyncLifetime, IDisposable
{
    private const string Host = "telemetry.example";

    private readonly ScratchFolder _folder = new();
    private readonly List<WebApplication> _servers = [];
    private int _port;

    private string Address => _folder.GetPath("app.sock");

    public async Task InitializeAsync()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrel().UseUrls("http://127.0.0.1:0");
        var kestrel = await StartAsync(builder);
        _port = new Uri(kestrel.Urls.Single()).Port;
        builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi().UseUrls($"fastcgi://unix:{Address}");
        await StartAsync(builder);
    }

    [Theory]
    [InlineData("GET", "/?secret=1")]
    [InlineData("get", "/lower")]
    [InlineData("POST", "/missing")]
    [InlineData("PURGE", "/")]
    public async Task Request_IsObservedAsWithSockets(string method, string target)
    {
        var expected = await ObserveAsync(CreateSocketsHandler(_port), method, target);
        var actual = await ObserveAsync(new FastCgiHttpHandler(Address), method, target);

        Assert.Equal(expected, actual);
        Assert.Contains(actual, static line => line.StartsWith("http.client.request.dur", StringComparison.Ordinal));
    }

    [Fact]
    public async Task NoConnection_IsObservedAsWithSockets()
        => Assert.Equal(
            await ObserveAsync(CreateSocketsHandler(1), "GET", "/"),
            await ObserveAsync(new FastCgiHttpHandler(_folder.GetPath("none.sock")), "GET", "/"));

    [Fact]
    public async Task EndedResponse_IsObservedAsWithSockets()
    {
        var sockets = new SocketsHttpHandler { ConnectCallback = static (_, _) => new(Stream.Null) };

        Assert.Equal(
            await ObserveAsync(sockets, "GET", "/abort"),
            await ObserveAsync(new FastCgiHttpHandler(Address), "GET", "/abort"));
    }

    /// <summary>Without a listener, the header continues the current trace.</summary>
    [Theory, Values(true, false)]
    public async Task TraceHeader_IsThatOfTheCurrentActivity_UnlessItIsSet(bool isSet)
    {
        using var current = new Activity("current").SetIdFormat(ActivityIdFormat.W3C).Start();
        using var client = new HttpClient(new FastCgiHttpHandler(Address));
        using var request = new HttpRequestMessage(HttpMethod.Get, $"http://{Host}/");
        var own = $"00-{new string('a', 32)}-{new string('b', 16)}-00";
        if (isSet)
            request.Headers.Add("traceparent", own);

        using var response = await client.SendAsync(request);

        Assert.Equal(isSet ? own : current.Id, await response.Content.ReadAsStringAsync());
    }

    public async Task DisposeAsync()
    {
        foreach (var server in _servers)
            await server.DisposeAsync();
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>Answers with the trace header.</summary>
    private async Task<WebApplication> StartAsync(WebApplicationBuilder builder)
    {
        var server = builder.Build();
        _servers.Add(server);
        server.Run(static async context =>
        {
            if (context.Request.Path == "/abort")
            {
                context.Abort();
                return;
            }

            context.Response.StatusCode = context.Request.Path == "/missing" ? 404 : 200;
            await context.Response.WriteAsync(context.Request.Headers.TraceParent.ToString());
        });
        await server.StartAsync();
        return server;
    }

    private static SocketsHttpHandler CreateSocketsHandler(int port) => new()
    {
        ConnectCallback = async (_, cancellationToken) =>
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(IPAddress.Loopback, port, cancellationToken);
            return new NetworkStream(socket, ownsSocket: true);
        },
    };

    private static async Task<List<string>> ObserveAsync(HttpMessageHandler handler, string method, string target)
    {
        var host = $"{Guid.NewGuid():N}.{Host}";
        using var observed = new Observer(host);
        using var client = new HttpClient(handler);
        using var request = new HttpRequestMessage(new HttpMethod(method), $"http://{host}:8080{target}");
        try
        {
            using var response = await client.SendAsync(request);
            var isContinued = observed.Ids.Contains(await response.Content.ReadAsStringAsync());
            observed.Add($"the application continues the trace: {isContinued}");
        }
        catch (HttpRequestException exception)
        {
            observed.Add($"fails: {exception.HttpRequestError}");
        }

        return observed.GetLines();
    }

    /// <summary>What listeners see of the requests to a host, which no other test uses.</summary>
    private sealed class Observer : IDisposable
    {
        private readonly string _host;
        private readonly List<string> _lines = [];
        private readonly ActivityListener _activities;
        private readonly MeterListener _meters = new();

        public Observer(string host)
        {
            _host = host;
            _activities = new ActivityListener
            {
                ShouldListenTo = static source => source.Name == "System.Net.Http",
                Sample = static (ref _) => ActivitySamplingResult.AllDataAndRecorded,
                ActivityStopped = OnStopped,
            };
            ActivitySource.AddActivityListener(_activities);
            _meters.InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Name is "http.client.request.duration" or "http.client.active_requests")
                    listener.EnableMeasurementEvents(instrument);
            };
            _meters.SetMeasurementEventCallback<double>((instrument, _, tags, _) => OnMeasured(instrument, "", tags));
            _meters.SetMeasurementEventCallback<long>(
                (instrument, value, tags, _) => OnMeasured(instrument, $"{value}", tags));
            _meters.Start();
        }

        public List<string> Ids { get; } = [];

        public void Add(string line)
        {
            lock (_lines)
                _lines.Add(line);
        }

        public List<string> GetLines()
        {
            lock (_lines)
                return [.. _lines];
        }

        public void Dispose()
        {
            _activities.Dispose();
            _meters.Dispose();
        }

        private void OnStopped(Activity activity)
        {
            if (!Equals(activity.GetTagItem("server.address"), _host))
                return;

            Ids.Add(activity.Id!);
            Add($"{activity.OperationName} {activity.Kind} {activity.DisplayName} {activity.Status}"
                + Format(activity.TagObjects));
        }

        private void OnMeasured(
            Instrument instrument, string value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
        {
            if (tags.ToArray().Contains(KeyValuePair.Create("server.address", (object?)_host)))
                Add($"{instrument.Name} {instrument.Unit} {value}{Format(tags.ToArray())}");
        }

        private string Format(IEnumerable<KeyValuePair<string, object?>> tags)
            => string.Concat(tags.OrderBy(static tag => tag.Key, StringComparer.Ordinal)
                .Select(static tag => $" {tag.Key}={tag.Value} ({tag.Value?.GetType().Name})"))
                .Replace(_host, Host);
    }
}
