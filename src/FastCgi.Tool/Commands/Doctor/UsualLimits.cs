namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What the configurations of all web servers are compared with.</summary>
internal static class UsualLimits
{
    /// <summary>The bytes of a request body that an application takes by default.</summary>
    public const long BodyLimit = 30_000_000;

    /// <summary>The seconds that the long polls of Blazor and SignalR last.</summary>
    public const double LongestPoll = 90;

    /// <summary>The document of faults by what is seen.</summary>
    public const string Trouble = "troubleshooting.md";
}
