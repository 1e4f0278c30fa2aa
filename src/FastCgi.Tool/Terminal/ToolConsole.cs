using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace FastCgi.Tool.Terminal;

/// <summary>Where a command writes. Tests give it writers of their own.</summary>
internal sealed class ToolConsole(TextWriter output, TextWriter error, Stream body)
{
    /// <summary>What was asked for.</summary>
    public TextWriter Out { get; } = output;

    /// <summary>What is said about it.</summary>
    public TextWriter Error { get; } = error;

    /// <summary>The same as <see cref="Out"/>, for bytes.</summary>
    public Stream Body { get; } = body;

    /// <summary>Whether somebody looks at what is written, and no file or program reads it.</summary>
    public bool IsTerminal { get; } = ReferenceEquals(output, Console.Out) && !Console.IsOutputRedirected;

    /// <summary>How many characters a line has; set by tests.</summary>
    public int Width { get => field > 0 ? field : IsTerminal && Console.WindowWidth > 0 ? Console.WindowWidth : int.MaxValue; init; }

    /// <summary>How many lines the terminal has.</summary>
    public int Height => IsTerminal && Console.WindowHeight > 0 ? Console.WindowHeight : int.MaxValue;

    /// <summary>Whether colours are seen and wanted (https://no-color.org).</summary>
    public bool UsesColour { get; } = ReferenceEquals(output, Console.Out) && !Console.IsOutputRedirected
        && string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR"));

    public string Bold(string text) => Colour(text, 1);

    public string Green(string text) => Colour(text, 32);

    public string Yellow(string text) => Colour(text, 33);

    public string Red(string text) => Colour(text, 31);

    public void WriteJson<T>(T value, JsonTypeInfo<T> type) => Out.WriteLine(JsonSerializer.Serialize(value, type));

    /// <summary>Writes one line on standard error, or with <c>--json</c> an object.</summary>
    /// <returns>The code, for the command to end with.</returns>
    public int Fail(int code, string message, bool isJson)
    {
        try
        {
            if (isJson)
                WriteJson(new ErrorDocument(message), ToolJson.Default.ErrorDocument);
            else
                Error.WriteLine($"fastcgi: {PlainText.Line(message)}");
        }
        catch (IOException)
        {
            // The output is full or closed: only the code is left.
        }

        return code;
    }

    private string Colour(string text, int code) => UsesColour ? $"\e[{code}m{text}\e[0m" : text;
}
