namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Usual limits of applications.</summary>
internal static class UsualLimits
{
    /// <summary>The default limit of a request body, in bytes.</summary>
    public const long Body = 30_000_000;

    /// <summary>The longest silence of Blazor's and SignalR's long polls, in seconds.</summary>
    public const double LongestPoll = 90;

    public const string ShortTimeout = "a longer silence of the application is a 504; long polls of Blazor and SignalR last up to 90 seconds";
}
