namespace FastCgi.Tool.Commands.Configuration;

/// <summary>The two files of <c>docs/shared-hosting.md</c>, for a program.</summary>
internal sealed class SharedHostingFiles(string program)
{
    private static readonly Regex s_block =
        new(@"^<!-- (htaccess|wrapper) -->\n```\w+\n(?<text>.*?)^```$",
            RegexOptions.Multiline | RegexOptions.Singleline);
    private static readonly Regex s_program = new(@"\A[A-Za-z0-9][A-Za-z0-9._-]*\z");

    private const UnixFileMode ExecutableMode = (UnixFileMode)0x1ED;
    private const string DocumentedProgram = "hello";

    public const string Kind = "htaccess";
    public const string Source = "docs/shared-hosting.md";

    private readonly (string Name, string Text)[] _files =
    [
        .. s_block.Matches(ToolCommand.ReadResource("shared-hosting.md"))
            .Select(static block => block.Groups["text"].Value)
            .Zip(
                [".htaccess", DocumentedProgram + ".fcgi"],
                (text, name) => (name.Replace(DocumentedProgram, program), text.Replace(DocumentedProgram, program))),
    ];

    /// <summary>Both files, whose first comments have their names.</summary>
    public string Text => string.Join('\n', _files.Select(static file => file.Text));

    public static string? CheckProgram(string text) => s_program.IsMatch(text) ? null : $"'{text}' is not a file name.";

    /// <returns>The paths of the files.</returns>
    public IEnumerable<string> Write(string folder)
    {
        foreach (var (name, text) in _files)
        {
            var path = Path.Combine(folder, name);
            var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write };
            if (!OperatingSystem.IsWindows() && text.StartsWith("#!", StringComparison.Ordinal))
                options.UnixCreateMode = ExecutableMode;
            try
            {
                using var writer = new StreamWriter(path, options);
                writer.Write(text);
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                throw CannotRun(exception.Message);
            }

            yield return path;
        }
    }
}
