namespace FastCgi.Tool.Terminal;

/// <summary>The exit codes. Scripts rely on them.</summary>
internal static class ExitCode
{
    public const int Ok = 0;

    /// <summary>No response, a bad response, or findings.</summary>
    public const int Failure = 1;

    public const int Usage = 2;

    /// <summary>No connection, an address that cannot be bound, or a file that cannot be used.</summary>
    public const int CannotRun = 3;

    /// <summary>Ctrl-C, as shells report it.</summary>
    public const int Interrupted = 130;
}

/// <summary>Ends a command with an exit code and one line.</summary>
internal sealed class ToolException(int code, string message) : Exception(message)
{
    public int Code { get; } = code;

    public static ToolException Failure(string message) => new(ExitCode.Failure, message);
    public static ToolException Usage(string message) => new(ExitCode.Usage, message);
    public static ToolException CannotRun(string message) => new(ExitCode.CannotRun, message);
}
