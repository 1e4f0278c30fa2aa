namespace FastCgi.AspNetCore.Testing;

/// <summary>Signals to other processes.</summary>
public static class Signal
{
    /// <summary>Sends a signal.</summary>
    /// <param name="process">The process.</param>
    /// <param name="name">The name of the signal, such as <c>TERM</c>.</param>
    public static void Send(int process, string name)
    {
        // The shell's own kill: the program is in a package that a minimal Debian lacks.
        using var kill = Process.Start("sh", ["-c", $"kill -s {name} {process}"]);
        kill.WaitForExit();
        Assert.Equal(0, kill.ExitCode);
    }
}
