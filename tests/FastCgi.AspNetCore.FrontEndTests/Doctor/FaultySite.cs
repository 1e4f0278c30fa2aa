using System.Net.Http.Json;
using System.Text.Json;
using FastCgi.AspNetCore.Hosting;
using FastCgi.Client;
using FastCgi.Tool.Tests.Harness;

namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>A web server and an application with a fault, or with its fix.</summary>
internal sealed class FaultySite : IAsyncDisposable
{
    private const UnixFileMode Open = (UnixFileMode)0b110_110_110;

    private readonly ScratchFolder _folder = new();
    private readonly Fault _fault;
    private readonly bool _isWrong;
    private readonly List<IAsyncDisposable> _owned = [];
    private PortReservation? _unused;
    private HurriedTime? _time;
    private TestApplication? _application;
    private FrontEnd? _frontEnd;

    private FaultySite(Fault fault, bool isWrong)
    {
        _fault = fault;
        _isWrong = isWrong;
    }

    public HttpClient Client { get; private set; } = null!;

    public CollectedLogs Log => _application!.Log;

    public string FrontEndLog => _frontEnd!.Log;

    public static async Task<FaultySite> StartAsync(Fault fault, bool isWrong)
    {
        var site = new FaultySite(fault, isWrong);
        try
        {
            await site.StartAsync();
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    /// <summary>The recommendations in the application's status.</summary>
    public async Task<IReadOnlyDictionary<string, string>> GetRecommendationsAsync()
    {
        using var client = new HttpClient(new FastCgiHttpHandler(_application!.EndPoint.ToString()!));
        var status = await client.GetFromJsonAsync<JsonElement>("http://localhost/fastcgi-status?format=json");
        return status.GetProperty("recommendations")
            .EnumerateArray()
            .ToDictionary(
                static one => one.GetProperty("name").GetString()!,
                static one => one.GetProperty("message").GetString()!);
    }

    /// <summary>Waits until the server has checked the requests so far.</summary>
    public Task WaitForCheckAsync() => _time!.WaitForCheckAsync();

    /// <summary>The tool's report on the web server's configuration.</summary>
    public async Task<string> AskToolAsync() => (await ToolRun.RunAsync("doctor", _folder.GetPath($"{_fault.Kind.ToString().ToLowerInvariant()}-frame.conf"), "--timeout", "2")).Out;

    public async ValueTask DisposeAsync()
    {
        Client?.Dispose();
        // Apache does not stop while it waits for a place in the queue.
        if (_application is null)
        {
            foreach (var owned in _owned)
                await owned.DisposeAsync();
            _owned.Clear();
        }

        if (_frontEnd is not null)
            await _frontEnd.DisposeAsync();
        foreach (var owned in _owned)
            await owned.DisposeAsync();
        _unused?.Dispose();
        _folder.Dispose();
        _application?.Log.Verify();
    }

    private async Task StartAsync()
    {
        Programs.Require(FrontEndProgram.Of(_fault.Kind).Name);
        var setup = new FrontEndSetup
        {
            // HAProxy runs in a chroot, so its document uses TCP.
            Kind = _fault.Kind,
            UsesUnixSocket = _fault.Kind != FrontEndKind.HaProxy,
            IsDocumented = true,
            UsesTls = _fault.UsesTls,
            IsBehindBalancer = _fault.IsBehindBalancer || (!_isWrong && _fault.IsMendedBehindBalancer),
        };
        var listener = _isWrong ? _fault.Listener : Listener.Application;
        var endPoint = listener is Listener.Application or Listener.ClosedSocket
            ? await StartApplicationAsync(setup, listener)
            : await StartOtherAsync(setup, listener);
        if (setup.UsesTls)
            await TestCertificates.WriteAsync(_folder.Path);
        _frontEnd = await FrontEnd.StartAsync(
            new DocumentedFrontEnd(setup, _folder.Path, endPoint, _isWrong ? _fault.Wrong : _fault.Right));
        Client = Site.CreateClient(
            $"{(setup.UsesTls ? "https" : "http")}://{FrontEndDocument.HostName}:{_frontEnd.EndPoint.Port}",
            _frontEnd.EndPoint,
            clientCertificate: null,
            setup.IsBehindBalancer ? Balancer.Address : null);
    }

    private async Task<EndPoint> StartApplicationAsync(FrontEndSetup setup, Listener listener)
    {
        var address = _folder.GetAddress(setup.UsesUnixSocket);
        if (_fault.Listener == Listener.ClosedSocket && _isWrong)
            address = address.Replace("0666", "0600", StringComparison.Ordinal);
        // Without a user in its configuration, h2o runs as nobody.
        else if (_fault.Listener == Listener.ClosedSocket && setup.Kind != FrontEndKind.H2o)
            address = address.Replace("0666", "0660&group=www-data", StringComparison.Ordinal);
        _application = await TestApplication.StartAsync(
            address,
            app =>
            {
                app.MapFastCgiStatus().AllowAnonymous();
                _fault.Application(app);
            },
            _isWrong ? _fault.WrongOptions : null,
            builder =>
            {
                builder.Logging.AddFilter("Microsoft", LogLevel.None);
                if (_fault.Haste > 1)
                    builder.Services.AddSingleton(new ServerTime(_time = new HurriedTime(_fault.Haste)));
                _fault.Services(builder);
            });
        _owned.Add(_application);
        return _application.EndPoint;
    }

    private async Task<EndPoint> StartOtherAsync(FrontEndSetup setup, Listener listener)
    {
        EndPoint endPoint = setup.UsesUnixSocket
            ? new UnixDomainSocketEndPoint(_folder.GetPath("app.sock"))
            : (_unused = new PortReservation()).EndPoint;
        switch (listener)
        {
            case Listener.Leftover:
                using (var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
                {
                    socket.Bind(endPoint);
                    // Under another name, .NET does not remove it: it remains as after a killed process.
                    File.Move(endPoint.ToString()!, endPoint + ".left");
                }

                File.Move(endPoint + ".left", endPoint.ToString()!);
                File.SetUnixFileMode(endPoint.ToString()!, Open);
                break;
            case Listener.FullQueue:
                var full = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                var waiting = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                _owned.Add(new Owned(full));
                _owned.Add(new Owned(waiting));
                full.Bind(endPoint);
                full.Listen(0);
                File.SetUnixFileMode(endPoint.ToString()!, Open);
                await waiting.ConnectAsync(endPoint);
                break;
            case Listener.Http or Listener.Php:
                var server = new OtherServer(listener == Listener.Php);
                _owned.Add(server);
                return server.EndPoint;
        }

        return endPoint;
    }

    private sealed class Owned(IDisposable one) : IAsyncDisposable
    {
        public ValueTask DisposeAsync()
        {
            one.Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
