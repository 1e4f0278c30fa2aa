namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>What listens on the application's address while the fault is present.</summary>
internal enum Listener
{
    Application,

    /// <summary>Nothing.</summary>
    Nobody,

    /// <summary>The application, on a socket that only its own user can open.</summary>
    ClosedSocket,
}

/// <summary>
/// A row of the table: a web server, the fault in it or in the application, the fix, and the expected report.
/// </summary>
internal sealed record Fault(string Name, FrontEndKind Kind)
{
    /// <summary>The documented text, and the faulty text that replaces it.</summary>
    public (string Documented, string Mistaken)[] Wrong { get; init; } = [];

    /// <summary>Replacements in the documented configuration for cases that it does not cover.</summary>
    public (string Documented, string Mistaken)[] Right { get; init; } = [];

    public bool UsesTls { get; init; }

    public bool IsBehindBalancer { get; init; }

    /// <summary>Whether only the correct configuration is the one behind a load balancer.</summary>
    public bool IsFixedBehindBalancer { get; init; }

    public Listener Listener { get; init; }

    public Action<WebApplication> Application { get; init; } = static app => app.MapFallback(static () => "reached");

    public Action<WebApplicationBuilder> Services { get; init; } = static _ => { };

    public Action<FastCgiServerOptions> WrongOptions { get; init; } = static _ => { };

    /// <summary>The requests that reveal the fault.</summary>
    public Func<HttpClient, Task> Visit { get; init; } = static async client => (await client.GetAsync("/")).Dispose();

    /// <summary>The status that clients get while the fault is present; 0 for any.</summary>
    public HttpStatusCode Status { get; init; }

    /// <summary>
    /// What the web server logs while the fault is present. <c>docs/troubleshooting.md</c> lists it for searches.
    /// </summary>
    public string? Log { get; init; }

    /// <summary>The recommendation in the application's status, and text that it contains.</summary>
    public (string Name, string Line)? Event { get; init; }

    public (string Id, string Line)? Rule { get; init; }

    /// <summary>The speed of the server's clock.</summary>
    public int Speedup { get; init; } = 1;

    /// <summary>Whether only a periodic check of the server finds it.</summary>
    public bool IsSeenByCheck => Speedup > 1;

    public override string ToString() => $"{Kind.ToString().ToLowerInvariant()}: {Name}";
}
