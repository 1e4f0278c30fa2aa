using System.Net.Sockets;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Recording;

/// <summary>One run of <c>record</c>.</summary>
internal sealed class Recorder(ToolConsole console, FastCgiAddress listen, FastCgiAddress to, string file, bool isJson)
{
    private readonly Lock _lock = new();
    private readonly HashSet<Task> _connections = [];
    private int _count;
    private IOException? _failure;

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        using var listener = Open(listen);
        try
        {
            listener.Bind(listen.EndPoint);
            listener.Listen();
        }
        catch (SocketException exception)
        {
            return console.Fail(ExitCode.CannotConnect, $"{listen} cannot be listened on: {exception.Message}", isJson);
        }

        try
        {
            return await RecordAsync(listener, cancellationToken);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return console.Fail(ExitCode.Usage, exception.Message, isJson);
        }
        finally
        {
            if (listen.EndPoint is UnixDomainSocketEndPoint unix && unix.ToString() is ['/', ..] path)
                File.Delete(path);
        }
    }

    private static Socket Open(FastCgiAddress address) => address.EndPoint is UnixDomainSocketEndPoint
        ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
        : new Socket(address.EndPoint.AddressFamily == AddressFamily.Unspecified ? AddressFamily.InterNetworkV6 : address.EndPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);

    private async Task<int> RecordAsync(Socket listener, CancellationToken cancellationToken)
    {
        await using var recording = new RecordingFile(file);
        using var end = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        await console.Error.WriteLineAsync($"Recording from {listen} to {to} into {file}. Ctrl-C ends it.");
        try
        {
            while (true)
                Add(RelayAsync(await listener.AcceptAsync(end.Token), recording, ++_count, end));
        }
        catch (OperationCanceledException)
        {
            // The end that was asked for.
        }

        Task[] open;
        lock (_lock)
            open = [.. _connections];
        await Task.WhenAll(open);
        if (_failure is { } failure)
            throw failure;

        if (isJson)
            console.WriteJson(new RecordDocument(file, _count, recording.Bytes), ToolJson.Default.RecordDocument);
        else
            await console.Out.WriteLineAsync($"{_count} connections, {recording.Bytes} bytes in {file}");
        return ExitCode.Ok;
    }

    private void Add(Task connection)
    {
        lock (_lock)
            _connections.Add(connection);
        connection.ContinueWith(ended =>
        {
            lock (_lock)
                _connections.Remove(ended);
        }, TaskScheduler.Default);
    }

    private async Task RelayAsync(Socket web, RecordingFile recording, int number, CancellationTokenSource end)
    {
        try
        {
            await RelayAsync(web, recording, number, end.Token);
        }
        catch (IOException exception)
        {
            // The file takes no more. A recording with holes is none.
            _failure = exception;
            await end.CancelAsync();
        }
    }

    private async Task RelayAsync(Socket web, RecordingFile recording, int number, CancellationToken cancellationToken)
    {
        using var webServer = web;
        using var application = to.EndPoint is UnixDomainSocketEndPoint ? Open(to) : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        recording.WriteEvent(number, RecordingLine.Open);
        try
        {
            await application.ConnectAsync(to.EndPoint, cancellationToken);
        }
        catch (SocketException exception)
        {
            recording.WriteEvent(number, RecordingLine.Refused, RecordingLine.Application);
            await console.Error.WriteLineAsync($"No connection to {to}: {exception.Message}");
            return;
        }
        catch (OperationCanceledException)
        {
            return;
        }

        if (web.AddressFamily != AddressFamily.Unix)
            web.NoDelay = true;
        var fromWeb = CopyAsync(web, application, RecordingLine.Web, recording, number, cancellationToken);
        var fromApplication = CopyAsync(application, web, RecordingLine.Application, recording, number, cancellationToken);
        // If one cannot be recorded, the other does not go on.
        await await Task.WhenAny(fromWeb, fromApplication);
        await Task.WhenAll(fromWeb, fromApplication);
    }

    private static async Task CopyAsync(Socket from, Socket to, string name, RecordingFile recording, int number, CancellationToken cancellationToken)
    {
        var buffer = new byte[64 * 1024];
        try
        {
            while (await from.ReceiveAsync(buffer, cancellationToken) is > 0 and var received)
            {
                recording.WriteBytes(number, name, buffer.AsSpan(0, received));
                await TrySendAsync(to, buffer.AsMemory(0, received), cancellationToken);
            }

            recording.WriteEvent(number, RecordingLine.End, name);
            TryShutdown(to);
        }
        catch (SocketException)
        {
            recording.WriteEvent(number, RecordingLine.Reset, name);
            // The other side sees it as it came.
            to.LingerState = new LingerOption(enable: true, seconds: 0);
            to.Close();
        }
        catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException)
        {
            // Ended from here.
        }
    }

    /// <summary>That the receiver is gone is found, and recorded, by who receives from it.</summary>
    private static async Task TrySendAsync(Socket socket, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            while (!bytes.IsEmpty)
                bytes = bytes[await socket.SendAsync(bytes, cancellationToken)..];
        }
        catch (SocketException)
        {
            // See above.
        }
    }

    private static void TryShutdown(Socket socket)
    {
        try
        {
            socket.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // Gone already.
        }
    }
}

/// <summary>What <c>record --json</c> writes at its end.</summary>
internal sealed record RecordDocument(string File, int Connections, long Bytes);
