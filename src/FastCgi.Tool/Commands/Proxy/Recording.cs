using FastCgi.Tool.Commands.Doctor;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Passes the bytes between the proxy and the application on, and records them.</summary>
internal sealed class RecordingRelay : IDisposable
{
    private const string Web = "web";
    private const string Application = "app";

    private readonly FastCgiAddress _application;
    private readonly RecordingFile _recording;
    private readonly string _folder = Directory.CreateTempSubdirectory("fastcgi-").FullName;
    private readonly Socket _listener;
    private readonly CancellationTokenSource _end = new();

    public RecordingRelay(FastCgiAddress application, string file, ToolConsole console)
    {
        _application = application;
        // Where the proxy connects instead.
        Address = FastCgiAddress.Parse("unix:" + Path.Combine(_folder, "s"));
        _listener = Address.CreateSocket();
        try
        {
            _recording = new RecordingFile(file, console);
            _listener.Bind(Address.EndPoint);
            _listener.Listen();
        }
        catch
        {
            Dispose();
            throw;
        }

        _ = AcceptAsync();
    }

    public FastCgiAddress Address { get; }

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
            _recording.Write(number, null, @event: "open");
            try
            {
                using var application = _application.CreateSocket();
                await application.ConnectAsync(_application.EndPoint, _end.Token);
                await Task.WhenAll(CopyAsync(web, application, Web, number), CopyAsync(application, web, Application, number));
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException)
            {
                _recording.Write(number, Application, @event: "refused");
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
                _recording.Write(number, name, buffer[..received]);
                for (var rest = buffer.AsMemory(0, received); !rest.IsEmpty;)
                    rest = rest[await to.SendAsync(rest, _end.Token)..];
            }

            _recording.Write(number, name, @event: "end");
            to.Shutdown(SocketShutdown.Send);
        }
        catch (SocketException)
        {
            _recording.Write(number, name, @event: "reset");
            to.Close(timeout: 0);
        }
        catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException)
        {
            // The other direction has closed the connection, or the proxy ends.
        }
    }
}

/// <summary>A recording in JSON lines. It may contain secrets, so only its owner can read it.</summary>
internal sealed class RecordingFile : IDisposable
{
    private readonly StreamWriter _writer;
    private readonly ToolConsole _console;
    private readonly Stopwatch _watch = Stopwatch.StartNew();
    private readonly Lock _lock = new();
    private bool _isFull;

    public RecordingFile(string path, ToolConsole console)
    {
        const UnixFileMode Owner = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        _console = console;
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write, Share = FileShare.Read };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = Owner;
        var stream = new FileStream(path, options);
        // An existing file keeps its mode.
        if (OperatingSystem.IsLinux() && SocketFile.Read(path)?.Type.StartsWith("regular", StringComparison.Ordinal) == true)
            File.SetUnixFileMode(stream.SafeFileHandle, Owner);
        _writer = new StreamWriter(stream) { NewLine = "\n", AutoFlush = true };
        Write(new RecordingLine(Format: "fastcgi-recording/1", Started: DateTimeOffset.UtcNow));
    }

    public void Write(int connection, string? from, byte[]? bytes = null, string? @event = null)
        => Write(new RecordingLine(T: Math.Round(_watch.Elapsed.TotalSeconds, 6), C: connection, From: from, Bytes: bytes, Event: @event));

    public void Dispose()
    {
        lock (_lock)
        {
            if (!_isFull)
                _writer.Dispose();
            _isFull = true;
        }
    }

    /// <summary>If the disk is full, the site keeps working.</summary>
    private void Write(RecordingLine line)
    {
        lock (_lock)
        {
            if (_isFull)
                return;

            try
            {
                _writer.WriteLine(JsonSerializer.Serialize(line, ToolJson.Default.RecordingLine));
            }
            catch (IOException exception)
            {
                _isFull = true;
                _console.Fail(ExitCode.CannotRun, $"The recording ends here: {exception.Message}", isJson: false);
            }
        }
    }
}

/// <summary>A line of a recording. The first line has the format and the start; each other line belongs to one connection.</summary>
/// <param name="Format">The name of the format.</param>
/// <param name="Started">The start of the recording.</param>
/// <param name="T">Seconds since the start.</param>
/// <param name="C">The number of the connection, from 1.</param>
/// <param name="From"><c>web</c> or <c>app</c>.</param>
/// <param name="Bytes">The bytes of one receive.</param>
/// <param name="Event"><c>open</c>, <c>refused</c>, <c>end</c> or <c>reset</c>.</param>
internal sealed record RecordingLine(
    string? Format = null, DateTimeOffset? Started = null, double? T = null, int? C = null, string? From = null, byte[]? Bytes = null, string? Event = null);
