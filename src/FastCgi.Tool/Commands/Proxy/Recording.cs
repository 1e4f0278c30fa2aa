namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Records the traffic with the application as JSON lines, which may contain secrets.</summary>
internal sealed class Recording : RecordTrace, IDisposable
{
    private readonly StreamWriter _writer;
    private readonly ToolConsole _console;
    private readonly Stopwatch _watch = Stopwatch.StartNew();
    private readonly Lock _lock = new();
    private bool _isFull;

    public Recording(string path, ToolConsole console)
    {
        const UnixFileMode Owner = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        _console = console;
        var isFile = SocketFile.Read(path)?.Type.StartsWith("regular", StringComparison.Ordinal) == true;
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = Owner;
        var stream = new FileStream(path, options);
        // An existing file keeps its mode.
        if (!OperatingSystem.IsWindows() && isFile)
            File.SetUnixFileMode(stream.SafeFileHandle, Owner);
        _writer = new StreamWriter(stream) { NewLine = "\n", AutoFlush = true };
        Write(new RecordingLine(Format: "fastcgi-recording/1", Started: DateTimeOffset.UtcNow));
    }

    public override void OnBytes(int connection, bool isSent, ReadOnlySpan<byte> bytes)
        => Write(new RecordingLine(T: Time, C: connection, From: isSent ? "web" : "app", Bytes: bytes.ToArray()));

    public override void OnEvent(int connection, bool isSent, string what)
        => Write(new RecordingLine(T: Time, C: connection, From: isSent ? "web" : "app", Event: what));

    public void Dispose()
    {
        lock (_lock)
        {
            if (!_isFull)
                _writer.Dispose();
            _isFull = true;
        }
    }

    private double Time => Math.Round(_watch.Elapsed.TotalSeconds, 6);

    /// <summary>Writes a line. A failure ends the recording, not the proxy.</summary>
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
            catch (Exception exception)
            {
                _isFull = true;
                _console.Fail(ExitCode.CannotRun, $"The recording ends here: {exception.Message}", isJson: false);
            }
        }
    }
}

/// <summary>A line of a recording: its format and start time, or bytes or an event of a connection.</summary>
internal sealed record RecordingLine(
    string? Format = null, DateTimeOffset? Started = null, double? T = null, int? C = null, string? From = null,
        byte[]? Bytes = null, string? Event = null);
