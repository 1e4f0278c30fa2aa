using System.Diagnostics;
using System.Text.Json;
using FastCgi.Tool.Commands.Doctor;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Proxy;

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

    public void Write(int connection, string? from, ReadOnlySpan<byte> bytes)
        => Write(new RecordingLine(T: Math.Round(_watch.Elapsed.TotalSeconds, 6), C: connection, From: from, Bytes: bytes.ToArray()));

    public void Write(int connection, string? from, string what)
        => Write(new RecordingLine(T: Math.Round(_watch.Elapsed.TotalSeconds, 6), C: connection, From: from, Event: what));

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
