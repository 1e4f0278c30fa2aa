namespace FastCgi.Tool.Terminal;

/// <summary>How a command ends. Scripts rely on these.</summary>
internal static class ExitCode
{
    public const int Ok = 0;

    /// <summary>There is no answer, or a bad one, or there are findings.</summary>
    public const int Failure = 1;

    public const int Usage = 2;

    /// <summary>No connection, an address that cannot be bound, or a file that cannot be used.</summary>
    public const int CannotRun = 3;

    /// <summary>Ctrl-C, as a shell reports it.</summary>
    public const int Interrupted = 130;
}

/// <summary>Ends a command with a code and one line.</summary>
internal sealed class ToolException(int code, string message) : Exception(message)
{
    public int Code { get; } = code;
}
