namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>What is wrong at an address, or with a configuration as a whole.</summary>
internal static class AddressRules
{
    private const string Exhausted = "troubleshooting.md#resource-temporarily-unavailable";

    public static readonly Rule WebServerCheck = new("web-server-check", Level.Problem,
        "the web server does not start, and a reload keeps the old configuration", "tool.md#doctor");

    public static readonly Rule NoSocket = new("no-socket", Level.Problem,
        "nginx returns 502 and logs '(2: No such file or directory)'; others return 503", BadGateway);

    public static readonly Rule Permission = new("permission", Level.Problem,
        "nginx returns 502 and logs '(13: Permission denied)'; others return 503",
        PermissionDenied);

    public static readonly Rule BacklogFull = new("backlog-full", Level.Problem,
        "nginx returns 502 or 504; for a Unix socket it logs '(11: Resource temporarily unavailable)'", Exhausted);

    public static readonly Rule Descriptors = new("descriptors", Level.Problem,
        "without a free descriptor, the process accepts no connections, and nginx returns 502", Exhausted);

    public static readonly Rule NobodyListens = new("nobody-listens", Level.Problem,
        "nginx returns 502 and logs '(111: Connection refused)'; others return 503", BadGateway);

    public static readonly Rule Ambiguous = new("ambiguous", Level.Problem,
        "programs read the address differently, so the web server and the application may not find each other",
        BadGateway);

    public static readonly Rule NotFastCgi = new("not-fastcgi", Level.Problem,
        "nginx returns 502 and logs 'upstream sent unsupported FastCGI protocol version'", BadGateway);

    public static readonly Rule NoAnswer = new("no-answer", Level.Problem,
        "the web server returns 502 or 504", "troubleshooting.md#504-gateway-timeout");

    public static readonly Rule ErrorStatus = new("error-status", Level.Problem,
        "clients get the same response", "troubleshooting.md#still-stuck");

    public static readonly Rule PhpFpm = new("php-fpm", Level.Note,
        "if a .NET application should respond here, both use the same address, and clients see 'File not found.'",
        "troubleshooting.md#primary-script-unknown");

    public static readonly Rule OtherProtocol = new("other-protocol", Level.Problem,
        "the application speaks FastCGI: it returns 400, 'This port speaks FastCGI, not HTTP.', or it closes the "
        + "connection, and the web server returns 502",
        BadRequest);

    public static IReadOnlyList<Rule> All { get; } =
    [
        WebServerCheck, NoSocket, Permission, BacklogFull, Descriptors, NobodyListens, Ambiguous, NotFastCgi, NoAnswer,
        ErrorStatus, PhpFpm, OtherProtocol,
    ];
}
