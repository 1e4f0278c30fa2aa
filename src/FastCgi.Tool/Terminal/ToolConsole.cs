using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;
using Spectre.Console;

namespace FastCgi.Tool.Terminal;

internal sealed class ToolConsole : IAnsiConsoleOutput
{
    // A separate task writes these lines, so that a stalled reader does not block a command.
    private readonly Channel<(TextWriter Writer, string Line)> _lines =
        Channel.CreateBounded<(TextWriter, string)>(10_000);
    private readonly Task _writing;

    public ToolConsole(TextWriter output, TextWriter error, Stream body)
    {
        (Out, Error, Body) = (output, error, body);
        _writing = Task.Run(WriteLinesAsync);
    }

    public TextWriter Out { get; }
    public TextWriter Error { get; }

    /// <summary>Standard output, like <see cref="Out"/>, for bytes.</summary>
    public Stream Body { get; }

    public bool IsTerminal { get; private init; }

    /// <summary>For tables and live output.</summary>
    public IAnsiConsole Ansi => AnsiConsole.Create(new AnsiConsoleSettings
    {
        Ansi = IsTerminal ? AnsiSupport.Detect : AnsiSupport.No,
        ColorSystem = HasColors ? ColorSystemSupport.Standard : ColorSystemSupport.NoColors,
        Out = this,
    });

    TextWriter IAnsiConsoleOutput.Writer => Out;
    int IAnsiConsoleOutput.Width => IsTerminal && Console.WindowWidth > 0 ? Console.WindowWidth : 10_000;
    int IAnsiConsoleOutput.Height => IsTerminal && Console.WindowHeight > 0 ? Console.WindowHeight : 10_000;

    // https://no-color.org
    private bool HasColors => IsTerminal && string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR"));

    public void SetEncoding(Encoding encoding)
    {
    }

    public static ToolConsole OpenStandard()
    {
        var output = StandardStream.Open(1);
        return new ToolConsole(CreateWriter(output), CreateWriter(StandardStream.Open(2)), output)
        {
            IsTerminal = !Console.IsOutputRedirected,
        };
    }

    private static TextWriter CreateWriter(Stream stream)
        => TextWriter.Synchronized(new StreamWriter(stream, Console.OutputEncoding) { AutoFlush = true });

    public string Green(string text) => Color(text, 32);
    public string Yellow(string text) => Color(text, 33);
    public string Red(string text) => Color(text, 31);

    public void WriteJson<T>(T value, JsonTypeInfo<T> type) => Out.WriteLine(JsonSerializer.Serialize(value, type));

    /// <summary>Writes to standard error, unless it is full or closed.</summary>
    public void Say(string line)
    {
        while (!_lines.Writer.TryWrite((Error, line))
            && _lines.Writer.WaitToWriteAsync().AsTask().GetAwaiter().GetResult())
            continue;
    }

    /// <summary>Writes to standard output, unless its reader has stalled, or it is full or closed.</summary>
    public void Log(string line) => _lines.Writer.TryWrite((Out, line));

    /// <summary>Waits until everything is written, or briefly after an interruption.</summary>
    public async Task EndAsync(CancellationToken cancellationToken)
    {
        _lines.Writer.TryComplete();
        var ending = Task.Delay(Timeout.Infinite, cancellationToken)
            .ContinueWith(static _ => Task.Delay(50), TaskScheduler.Default).Unwrap();
        await Task.WhenAny(_writing, ending);
    }

    private async Task WriteLinesAsync()
    {
        await foreach (var (writer, line) in _lines.Reader.ReadAllAsync())
        {
            try
            {
                writer.WriteLine(line);
            }
            catch (Exception)
            {
                // This cannot be reported.
            }
        }
    }

    /// <summary>Writes a line to standard error, or an object to standard output with <c>--json</c>.</summary>
    /// <returns>The exit code.</returns>
    public int Fail(int code, string message, bool isJson)
    {
        try
        {
            if (isJson)
            {
                WriteJson(new ErrorDocument(message), ToolJson.Default.ErrorDocument);
                return code;
            }
        }
        catch (Exception)
        {
            // Standard output is full or closed.
        }

        Say($"fastcgi: {PlainText.Line(message)}");
        return code;
    }

    private string Color(string text, int code) => HasColors ? $"\e[{code}m{text}\e[0m" : text;
}

/// <summary>Text from an application, a client or a file. It must not control the terminal.</summary>
internal static class PlainText
{
    /// <summary>Replaces control characters other than line ends and tabs by question marks.</summary>
    public static string Lines(string text) => Regex.Replace(text.ReplaceLineEndings("\n"), @"[\p{Cc}-[\n\t]]", "?");

    /// <summary>Replaces all control characters by spaces.</summary>
    public static string Line(string text) => Regex.Replace(text, @"\p{Cc}", " ");
}

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(ErrorDocument))]
[JsonSerializable(typeof(Commands.Request.RequestDocument))]
[JsonSerializable(typeof(Commands.Check.CheckDocument))]
[JsonSerializable(typeof(Commands.Configuration.ConfigDocument))]
[JsonSerializable(typeof(Commands.Doctor.DoctorDocument))]
[JsonSerializable(typeof(Commands.Proxy.ProxiedRequest))]
[JsonSerializable(typeof(Commands.Proxy.RecordingLine))]
[JsonSerializable(typeof(JsonElement))]
[JsonSerializable(typeof(string))]
internal sealed partial class ToolJson : JsonSerializerContext;

internal sealed record ErrorDocument(string Error);
