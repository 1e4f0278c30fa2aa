using System.Text;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Reads the files of a configuration, as far as they are ones: a device or a file that includes itself again and again has no end.</summary>
internal sealed class ConfigurationFiles
{
    private const int MostCharacters = 32 * 1024 * 1024;

    private int _left = MostCharacters;

    /// <summary>Reads a file; all together have at most 32 Mi characters.</summary>
    /// <exception cref="ToolException">They have more.</exception>
    public string Read(string file)
    {
        using var reader = new StreamReader(file);
        var text = new StringBuilder();
        var buffer = new char[64 * 1024];
        while (reader.Read(buffer) is > 0 and var read)
        {
            _left -= read;
            if (_left < 0)
                throw new ToolException(ExitCode.CannotRun, $"{file}: this is no configuration, or it includes itself: with what was read before it has more than {MostCharacters / 1024 / 1024} MiB.");
            text.Append(buffer, 0, read);
        }

        return text.ToString();
    }
}
