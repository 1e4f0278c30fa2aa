using System.Net.Sockets;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Passes the bytes between the proxy and the application on, and records them.</summary>
internal sealed class RecordingRelay : IDisposable
{
    private const string Web = "web";
    private const string Application = "app";

    private readonly FastCgiAddress _application;
    private readonly RecordingFile _recording;
    private readonly string _folder = Directory.CreateTempSubdirectory("fastcgi-").FullName;
    private readonly Socket _listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
    private readonly CancellationTokenSource _end = new();

    public RecordingRelay(FastCgiAddress application, string file, ToolConsole console)
    {
        _application = application;
        try
        {
            _recording = new RecordingFile(file, console);
            _listener.Bind(new UnixDomainSocketEndPoint(Path.Combine(_folder, "s")));
            _listener.Listen();
        }
        catch
        {
            Dispose();
            throw;
        }

        _ = AcceptAsync();
    }

    /// <summary>Where the proxy connects instead.</summary>
    public FastCgiAddress Address => FastCgiAddress.Parse("unix:" + Path.Combine(_folder, "s"));

    public void Dispose()
    {
        _end.Cancel();
        _listener.Dispose();
        _recording?.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private async Task AcceptAsync()
    {
        for (var number = 1; !_end.IsCancellationRequested; number++)
        {
            try
            {
                _ = RelayAsync(await _listener.AcceptAsync(_end.Token), number);
            }
            catch (SocketException)
            {
                // Out of descriptors: try again when others are closed.
                await Task.Delay(100);
            }
            catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException)
            {
                return;
            }
        }
    }

    private async Task RelayAsync(Socket web, int number)
    {
        using (web)
        {
            _recording.Write(number, null, "open");
            try
            {
                var isUnix = _application.EndPoint is UnixDomainSocketEndPoint;
                using var application = isUnix
                    ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
                    : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await application.ConnectAsync(_application.EndPoint, _end.Token);
                await Task.WhenAll(CopyAsync(web, application, Web, number), CopyAsync(application, web, Application, number));
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException)
            {
                _recording.Write(number, Application, "refused");
            }
        }
    }

    private async Task CopyAsync(Socket from, Socket to, string name, int number)
    {
        var buffer = new byte[64 * 1024];
        try
        {
            while (await from.ReceiveAsync(buffer, _end.Token) is > 0 and var received)
            {
                _recording.Write(number, name, buffer.AsSpan(0, received));
                for (var rest = buffer.AsMemory(0, received); !rest.IsEmpty;)
                    rest = rest[await to.SendAsync(rest, _end.Token)..];
            }

            _recording.Write(number, name, "end");
            to.Shutdown(SocketShutdown.Send);
        }
        catch (SocketException)
        {
            _recording.Write(number, name, "reset");
            to.Close(timeout: 0);
        }
        catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException)
        {
            // The other direction has closed the connection, or the proxy ends.
        }
    }
}
