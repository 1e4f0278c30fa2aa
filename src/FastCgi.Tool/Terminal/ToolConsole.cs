using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.Tool.Terminal;

internal sealed class ToolConsole(TextWriter output, TextWriter error, Stream body)
{
    public TextWriter Out { get; } = output;
    public TextWriter Error { get; } = error;

    /// <summary>The same as <see cref="Out"/>, for bytes.</summary>
    public Stream Body { get; } = body;

    /// <summary>Whether somebody looks at what is written, and no file or program reads it.</summary>
    public bool IsTerminal { get; } = ReferenceEquals(output, Console.Out) && !Console.IsOutputRedirected;

    /// <summary>How many characters a line has; set by tests.</summary>
    public int Width { get => field > 0 ? field : IsTerminal && Console.WindowWidth > 0 ? Console.WindowWidth : int.MaxValue; init; }

    public int Height => IsTerminal && Console.WindowHeight > 0 ? Console.WindowHeight : int.MaxValue;

    /// <summary>The streams of the process. .NET's console ignores that the reader of a pipe has gone, and one stalled stream holds the other.</summary>
    public static ToolConsole OpenStandard()
    {
        var (output, error) = (OpenPipe(1, Console.IsOutputRedirected), OpenPipe(2, Console.IsErrorRedirected));
        return new ToolConsole(CreateWriter(output, Console.Out), CreateWriter(error, Console.Error), output ?? Console.OpenStandardOutput());
    }

    private static FileStream? OpenPipe(int descriptor, bool isRedirected)
    {
        if (OperatingSystem.IsWindows() || !isRedirected)
            return null;

        // A file may be shared with other programs: a stream would have its own position in it.
        var stream = new FileStream(new SafeFileHandle(descriptor, ownsHandle: false), FileAccess.Write, bufferSize: 0);
        return stream.CanSeek ? null : stream;
    }

    private static TextWriter CreateWriter(Stream? pipe, TextWriter other)
        => pipe is null ? other : TextWriter.Synchronized(new StreamWriter(pipe, Console.OutputEncoding) { AutoFlush = true });

    public string Bold(string text) => Colour(text, 1);

    public string Green(string text) => Colour(text, 32);

    public string Yellow(string text) => Colour(text, 33);

    public string Red(string text) => Colour(text, 31);

    public void WriteJson<T>(T value, JsonTypeInfo<T> type) => Out.WriteLine(JsonSerializer.Serialize(value, type));

    /// <summary>Writes to standard error, if that is possible: it may be full or closed.</summary>
    public void Say(string line)
    {
        try
        {
            Error.WriteLine(line);
        }
        catch (Exception)
        {
            // Nobody can be told.
        }
    }

    /// <summary>Writes one line on standard error, or with <c>--json</c> an object.</summary>
    /// <returns>The code, for the command to end with.</returns>
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

    /// <summary>Colours are for terminals, and for those who want them (https://no-color.org).</summary>
    private string Colour(string text, int code)
        => IsTerminal && string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR")) ? $"\e[{code}m{text}\e[0m" : text;
}

/// <summary>Texts of an application, a client or a file: on a terminal, they must not move the cursor, colour, or name the window.</summary>
internal static class PlainText
{
    /// <summary>Several lines: control codes but line ends and tabs become question marks.</summary>
    public static string Lines(string text)
        => Regex.Replace(text.ReplaceLineEndings("\n"), @"[\p{Cc}-[\n\t]]", "?");

    /// <summary>One line: all control codes become spaces.</summary>
    public static string Line(string text) => Regex.Replace(text, @"\p{Cc}", " ");

    /// <summary>Breaks one line between words.</summary>
    public static IEnumerable<string> Wrap(string text, int width)
    {
        while (text.Length > width)
        {
            var space = text.LastIndexOf(' ', width);
            var end = space > 0 ? space : width;
            yield return text[..end];
            text = text[end..].TrimStart();
        }

        yield return text;
    }
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(ErrorDocument))]
[JsonSerializable(typeof(Commands.Request.RequestDocument))]
[JsonSerializable(typeof(Commands.Request.RepeatDocument))]
[JsonSerializable(typeof(Commands.Check.CheckDocument))]
[JsonSerializable(typeof(Commands.Configuration.ConfigDocument))]
[JsonSerializable(typeof(Commands.Doctor.DoctorDocument))]
[JsonSerializable(typeof(Commands.Proxy.ProxiedRequest))]
[JsonSerializable(typeof(Commands.Proxy.RecordingLine))]
[JsonSerializable(typeof(JsonElement))]
[JsonSerializable(typeof(string))]
internal sealed partial class ToolJson : JsonSerializerContext;

internal sealed record ErrorDocument(string Error);
