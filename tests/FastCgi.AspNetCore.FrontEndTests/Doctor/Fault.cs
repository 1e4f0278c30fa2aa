namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>What is at the address of the application while something is wrong.</summary>
internal enum Listener
{
    Application,

    /// <summary>Nothing.</summary>
    Nobody,

    /// <summary>The socket file of a process that has ended.</summary>
    Leftover,

    FullQueue,

    /// <summary>The application, on a socket that only its own user may open.</summary>
    ClosedSocket,

    Http,

    /// <summary>What answers as php-fpm does.</summary>
    Php,
}

/// <summary>A row of the table: a web server, what is wrong with it or with the application, what mends it, and who has to name it with which line.</summary>
internal sealed record Fault(string Name, FrontEndKind Kind)
{
    /// <summary>What the document says, and what the wrong configuration says instead.</summary>
    public (string Documented, string Mistaken)[] Wrong { get; init; } = [];

    /// <summary>What the document says, and what the right configuration says instead, where the document is not right for the case.</summary>
    public (string Documented, string Mistaken)[] Right { get; init; } = [];

    public bool UsesTls { get; init; }

    public bool IsBehindBalancer { get; init; }

    /// <summary>Whether the right configuration alone is that of behind a load balancer.</summary>
    public bool IsMendedBehindBalancer { get; init; }

    public Listener Listener { get; init; }

    public Action<WebApplication> Application { get; init; } = static app => app.MapFallback(static () => "reached");

    public Action<WebApplicationBuilder> Services { get; init; } = static _ => { };

    public Action<FastCgiServerOptions> WrongOptions { get; init; } = static _ => { };

    /// <summary>What clients do, which shows the fault.</summary>
    public Func<HttpClient, Task> Visit { get; init; } = static async client => (await client.GetAsync("/")).Dispose();

    /// <summary>What clients get while it is wrong; 0 for anything.</summary>
    public HttpStatusCode Status { get; init; }

    /// <summary>What the web server logs while it is wrong; it stands in <c>docs/troubleshooting.md</c> for who searches for it.</summary>
    public string? Log { get; init; }

    /// <summary>The recommendation in the application's status, and what is in it.</summary>
    public (string Name, string Line)? Event { get; init; }

    public (string Id, string Line)? Rule { get; init; }

    /// <summary>How fast the server's clock goes.</summary>
    public int Haste { get; init; } = 1;

    /// <summary>Whether it is seen only when the server's doctor looks.</summary>
    public bool IsSeenAtALook => Haste > 1;

    public override string ToString() => $"{Kind.ToString().ToLowerInvariant()}: {Name}";
}
