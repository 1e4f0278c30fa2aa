using System.Diagnostics;
using System.Text.Json;
using FastCgi.Tool.Commands.Doctor;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Recording;

/// <summary>A recording that is written. What it holds may be secret, so that only its owner can read it.</summary>
internal sealed class RecordingFile : IAsyncDisposable
{
    private readonly StreamWriter _writer;
    private readonly Stopwatch _watch = Stopwatch.StartNew();
    private readonly Lock _lock = new();

    public RecordingFile(string path)
    {
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write, Share = FileShare.Read };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        var stream = new FileStream(path, options);
        // A file that was there has the mode that it had.
        if (!OperatingSystem.IsWindows() && (!OperatingSystem.IsLinux() || SocketFile.Read(path)?.Type.StartsWith("regular", StringComparison.Ordinal) == true))
            File.SetUnixFileMode(stream.SafeFileHandle, UnixFileMode.UserRead | UnixFileMode.UserWrite);
        _writer = new StreamWriter(stream) { NewLine = "\n" };
        Write(new RecordingLine(Format: RecordingLine.CurrentFormat, Started: DateTimeOffset.UtcNow));
    }

    /// <summary>Bytes of both sides together.</summary>
    public long Bytes { get; private set; }

    public void WriteBytes(int connection, string from, ReadOnlySpan<byte> bytes)
    {
        lock (_lock)
        {
            Bytes += bytes.Length;
            Write(new RecordingLine(T: GetTime(), C: connection, From: from, Bytes: bytes.ToArray()));
        }
    }

    public void WriteEvent(int connection, string what, string? from = null)
    {
        lock (_lock)
            Write(new RecordingLine(T: GetTime(), C: connection, From: from, Event: what));
    }

    public ValueTask DisposeAsync() => _writer.DisposeAsync();

    private double GetTime() => Math.Round(_watch.Elapsed.TotalSeconds, 6);

    private void Write(RecordingLine line)
    {
        _writer.WriteLine(JsonSerializer.Serialize(line, ToolJson.Default.RecordingLine));
        // A recording that is ended by force has all that came.
        _writer.Flush();
    }
}
