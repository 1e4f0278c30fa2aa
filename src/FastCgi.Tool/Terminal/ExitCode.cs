namespace FastCgi.Tool.Terminal;

/// <summary>How a command ends. Scripts rely on these.</summary>
internal static class ExitCode
{
    /// <summary>All is well.</summary>
    public const int Ok = 0;

    /// <summary>There is an answer, or there are findings, and they are bad.</summary>
    public const int Failure = 1;

    /// <summary>The command line is wrong.</summary>
    public const int Usage = 2;

    /// <summary>Nobody is reached at the address, or it cannot be listened on.</summary>
    public const int CannotConnect = 3;
}
