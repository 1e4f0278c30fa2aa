using System.Net.Http.Json;
using System.Text.Json;
using FastCgi.AspNetCore.Hosting;
using FastCgi.Client;
using FastCgi.Tool.Tests.Harness;

namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>A web server and an application with a fault, or with its fix.</summary>
internal sealed class FaultySite : IAsyncDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly Fault _fault;
    private readonly bool _isWrong;
    private readonly PortReservation _unused = new();
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
    public async Task<string> AskToolAsync() => (
        await ToolRun.RunAsync(
            "doctor",
            _folder.GetPath($"{_fault.Kind.ToString().ToLowerInvariant()}-frame.conf"),
            "--timeout",
            "2")).Out;

    public async ValueTask DisposeAsync()
    {
        Client?.Dispose();

        if (_frontEnd is not null)
            await _frontEnd.DisposeAsync();
        if (_application is not null)
            await _application.DisposeAsync();
        _unused.Dispose();
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
            IsBehindBalancer = _fault.IsBehindBalancer || (!_isWrong && _fault.IsFixedBehindBalancer),
        };
        var listener = _isWrong ? _fault.Listener : Listener.Application;
        var endPoint = listener == Listener.Nobody ? GetUnusedEndPoint(setup) : await StartApplicationAsync(setup);
        if (setup.UsesTls)
            await TestCertificates.WriteAsync(_folder.Path);
        _frontEnd = await DocumentedFrontEnd.StartAsync(
            setup, _folder.Path, endPoint, _isWrong ? _fault.Wrong : _fault.Right);
        Client = Site.CreateClient(
            $"{(setup.UsesTls ? "https" : "http")}://{FrontEndDocument.HostName}:{_frontEnd.EndPoint.Port}",
            _frontEnd.EndPoint,
            clientCertificate: null,
            setup.IsBehindBalancer ? Balancer.Address : null);
    }

    private EndPoint GetUnusedEndPoint(FrontEndSetup setup)
        => setup.UsesUnixSocket ? new UnixDomainSocketEndPoint(_folder.GetPath("app.sock")) : _unused.EndPoint;

    private async Task<EndPoint> StartApplicationAsync(FrontEndSetup setup)
    {
        var address = _folder.GetAddress(setup.UsesUnixSocket);
        if (_fault.Listener == Listener.ClosedSocket && _isWrong)
            address = address.Replace("0666", "0600");
        else if (_fault.Listener == Listener.ClosedSocket)
            address = address.Replace("0666", "0660&group=www-data");
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
                if (_fault.Speedup > 1)
                    builder.Services.AddSingleton(new ServerTime(_time = new HurriedTime(_fault.Speedup)));
                _fault.Services(builder);
            });
        return _application.EndPoint;
    }
}
