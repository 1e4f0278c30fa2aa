using System.Globalization;
using System.Net.Sockets;
using System.Text.Json;
using FastCgi.AspNetCore.Accounts;
using FastCgi.AspNetCore.Status;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks an address: its socket, what answers there, and the process.</summary>
internal sealed class AddressInspector(DoctorReport report, DoctorSettings settings)
{
    private const string Queue = "#resource-temporarily-unavailable";
    private const string MoreBacklog = "sysctl -w net.core.somaxconn=4096";
    private const string Descriptors = "LimitNOFILE=65536";

    private readonly Dictionary<string, StatusSnapshot?> _statuses = new(StringComparer.Ordinal);
    private readonly Dictionary<string, ProbeResult> _seen = new(StringComparer.Ordinal);

    /// <param name="address">The address.</param>
    /// <param name="users">Who must be able to connect; <see langword="null"/> for any of the usual users of web servers.</param>
    /// <param name="headBuffer">The web server's limit of response headers; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels it.</param>
    public async Task InspectAsync(FastCgiAddress address, IReadOnlyList<LocalAccount>? users, HeadBuffer? headBuffer, CancellationToken cancellationToken)
    {
        if (settings.IsOffline)
            return;

        var where = address.ToString();
        if (OperatingSystem.IsLinux() && address.EndPoint is UnixDomainSocketEndPoint && address.EndPoint.ToString() is ['/', ..] path
            && !InspectFile(path, users))
            return;

        var isNew = !_seen.ContainsKey(where);
        var result = await ProbeAsync(address, cancellationToken);
        if (result.ConnectError is { } error)
        {
            ReportNoConnection(where, error);
            return;
        }

        if (!ReportOtherProtocol(where, result))
            return;
        if (isNew)
        {
            ReportAnswer(where, result);
            ReportStatus(where, await ReadStatusAsync(address, cancellationToken));
            report.AddFact($"{where}: GET_VALUES {await CreateProbe(address).GetValuesAsync(cancellationToken) ?? "is not answered"}");
            if (OperatingSystem.IsLinux())
                InspectProcess(address);
        }

        if (headBuffer is { } buffer && (buffer.IsOfOneHeader ? result.LongestHeader : result.HeadSize) is var size && size > buffer.Size)
        {
            var what = buffer.IsOfOneHeader ? "longest response header" : "response headers";
            report.AddProblem(
                "head-buffer", where, $"the {what} of {settings.Path} have {size} bytes, and {buffer.WebServer}'s buffer for them has {buffer.Size}",
                buffer.Consequence, buffer.Line, "#response-headers-that-are-too-large");
        }
    }

    /// <summary>Checks whether the processes at several addresses share their Data Protection keys.</summary>
    public void InspectKeys(string where, IReadOnlyList<FastCgiAddress> all)
    {
        if (ShareKeys(all))
            return;

        report.AddNote(
            "keys-not-shared", where, $"{all.Count} addresses share the requests, but apparently no folder for Data Protection keys",
            "unless the application names one, each process refuses logins and forms of the others",
            "builder.Services.AddDataProtection().SetApplicationName(\"hello\").PersistKeysToFileSystem(new DirectoryInfo(\"/var/lib/hello/keys\"));",
                "#ephemeral-key-repository");
    }

    /// <summary>Reads the status of the application, if the command line names it.</summary>
    public async Task<StatusSnapshot?> ReadStatusAsync(FastCgiAddress address, CancellationToken cancellationToken)
    {
        if (settings.IsOffline || settings.StatusPath is not { } path)
            return null;

        var where = address.ToString();
        if (_statuses.TryGetValue(where, out var seen))
            return seen;
        return _statuses[where] = await ReadStatusAsync(where, path, cancellationToken);
    }

    private async Task<StatusSnapshot?> ReadStatusAsync(string where, string path, CancellationToken cancellationToken)
    {
        try
        {
            using var handler = new FastCgiHttpHandler(where);
            using var reader = new StatusReader(handler, settings.Timeout, where);
            return (await reader.ReadAsync(path, cancellationToken)).Status;
        }
        catch (ToolException exception)
        {
            report.AddFact($"{where}: {path} is not a status: {exception.Message}");
            return null;
        }
    }

    /// <summary>Whether an application speaks FastCGI at an address that the web server sends HTTP to.</summary>
    public async Task<bool> SpeaksFastCgiAsync(FastCgiAddress address, CancellationToken cancellationToken)
        => !settings.IsOffline && (await ProbeAsync(address, cancellationToken)).Spoken == Spoken.FastCgi;

    private ApplicationProbe CreateProbe(FastCgiAddress address) => new(address, settings.Path, settings.Parameters, settings.Timeout);

    private async Task<ProbeResult> ProbeAsync(FastCgiAddress address, CancellationToken cancellationToken)
        => _seen.TryGetValue(address.ToString(), out var seen) ? seen : _seen[address.ToString()] = await CreateProbe(address).RunAsync(cancellationToken);

    /// <summary>Finds the user that a configuration names.</summary>
    /// <returns><see langword="null"/> if it names none of this machine.</returns>
    public static IReadOnlyList<LocalAccount>? FindAccounts(string? name)
        => OperatingSystem.IsLinux() && name is not null && LocalAccounts.Find(name) is { } account ? [account] : null;

    /// <returns>Whether it is a socket.</returns>
    private bool InspectFile(string path, IReadOnlyList<LocalAccount>? users)
    {
        if (SocketFile.Read(path) is not { } socket)
        {
            report.AddProblem(
                "no-socket", path, "it does not exist, or you cannot enter a folder above it",
                    "nginx answers 502 and logs '(2: No such file or directory)'; others answer 503",
                $"--urls fastcgi://unix:{path}", "#502-bad-gateway");
            return false;
        }

        if (!socket.IsSocket)
        {
            report.AddProblem("not-a-socket", path, $"it is a {socket.Type}", "no web server can connect to it", $"--urls fastcgi://unix:{path}",
                "#502-bad-gateway");
            return false;
        }

        var folders = SocketFile.ReadFolders(path);
        var wanted = users ?? [.. LocalAccounts.OfWebServers.Select(LocalAccounts.Find).OfType<LocalAccount>()];
        var obstacles = wanted.Select(user => (User: user, File: SocketFile.FindObstacle(socket, folders, user))).ToList();
        var open = obstacles.Where(static pair => pair.File is null).Select(static pair => pair.User.Name).ToList();
        var who = wanted.Count == 0 ? "; this machine has no user of a web server" : open.Count > 0 ? $"; {string.Join(", ", open)} can connect" : "";
        report.AddFact($"{path}: {socket.Describe()}{who}");
        if (open.Count == 0 && obstacles is [var (user, file), ..])
            ReportObstacle(path, socket, file!, user, string.Join(", ", wanted.Select(static each => each.Name)));
        return true;
    }

    private void ReportObstacle(string path, SocketFile socket, SocketFile obstacle, LocalAccount user, string names)
    {
        const string Consequence = "nginx answers 502 and logs '(13: Permission denied)'; others answer 503";
        const string Document = "#permission-denied";
        if (obstacle == socket)
        {
            var line = $"--urls 'fastcgi://unix:{path}?mode=0660&group={user.Group}'";
            report.AddProblem("permission", path, $"{socket.Describe()}: {names} cannot connect", Consequence, line, Document);
        }
        else
        {
            var line = $"chmod o+x {obstacle.Path}";
            report.AddProblem("permission", obstacle.Path, $"{obstacle.Describe()}: {names} cannot enter this folder of {path}", Consequence, line, Document);
        }
    }

    private void ReportNoConnection(string where, SocketError error)
    {
        if (error is SocketError.WouldBlock or SocketError.TryAgain or SocketError.TimedOut or SocketError.NoBufferSpaceAvailable)
        {
            report.AddProblem(
                "backlog-full", where, $"the connection is not accepted ({error}): the queue of connections is full, or a firewall drops it",
                "nginx answers 502 or 504; for a unix socket it logs '(11: Resource temporarily unavailable)'", MoreBacklog, Queue);
        }
        else if (error == SocketError.AccessDenied)
        {
            throw new ToolException(ExitCode.CannotRun, $"You have no permission to connect to {where}. Run this as root or as the web server's user.");
        }
        else
        {
            report.AddProblem(
                "nobody-listens", where, $"there is no connection ({error})", "nginx answers 502 and logs '(111: Connection refused)'; others answer 503",
                $"--urls {(where.StartsWith("fastcgi://", StringComparison.Ordinal) ? where : "fastcgi://" + where)}", "#502-bad-gateway");
        }
    }

    /// <returns>Whether an application speaks FastCGI.</returns>
    private bool ReportOtherProtocol(string where, ProbeResult result)
    {
        if (result.Spoken is Spoken.Http or Spoken.Tls)
        {
            var name = result.Spoken == Spoken.Http ? "HTTP" : "TLS";
            report.AddProblem(
                result.Spoken == Spoken.Http ? "speaks-http" : "speaks-tls", where, $"the application speaks {name}, not FastCGI",
                "nginx answers 502 and logs 'upstream sent unsupported FastCGI protocol version'", $"--urls {where}", "#502-bad-gateway");
            return false;
        }

        if (result.Spoken == Spoken.Nothing)
        {
            report.AddProblem(
                "no-answer", where, string.Create(CultureInfo.InvariantCulture,
                    $"it accepts connections, but sends nothing within {settings.Timeout.TotalSeconds} s ({result.Flaw})"),
                "the web server answers 504 or 502", "dotnet-stack report -p PID", "#504-gateway-timeout");
            return false;
        }

        return true;
    }

    private void ReportAnswer(string where, ProbeResult result)
    {
        if (result.Flaw is { } flaw)
        {
            report.AddProblem("bad-answer", where, $"GET {settings.Path}: {flaw}", "the web server answers 502", "fastcgi request ADDRESS / -v",
                "#502-bad-gateway");
            return;
        }

        var time = result.Elapsed.TotalMilliseconds;
        report.AddFact(string.Create(CultureInfo.InvariantCulture,
            $"{where}: GET {settings.Path} is answered with {result.Status} in {time:0} ms, {result.HeadSize} bytes of headers"));
        if (result.IsPhp)
        {
            report.AddNote(
                "php-fpm", where, "php-fpm answers, 'Primary script unknown'",
                    "if a .NET application should answer, both have the same address, and the page is 'File not found.'",
                "--urls fastcgi://127.0.0.1:9001", "#primary-script-unknown");
        }

        if (result.Status >= 500)
        {
            report.AddProblem(
                "error-status", where, $"GET {settings.Path} is answered with {result.Status}", "clients get the same",
                    "--Logging:LogLevel:FastCgi.AspNetCore Debug", "#still-no-idea");
        }
    }

    /// <summary>Whether one process listens at all of these addresses, or several with the same key folder.</summary>
    private bool ShareKeys(IReadOnlyList<FastCgiAddress> addresses)
    {
        if (settings.IsOffline || !OperatingSystem.IsLinux())
            return false;

        var processes = addresses.Select(ListeningProcess.Find).ToList();
        if (processes.Any(static process => process?.ProcessId is null))
            return false;
        return processes.DistinctBy(static process => process!.ProcessId).Count() == 1
            || processes.Select(static process => process!.FindKeyFolder()).Distinct().ToList() is [not null];
    }

    /// <summary>Reports what the application recommends itself.</summary>
    private void ReportStatus(string where, StatusSnapshot? status)
    {
        foreach (var finding in status?.Recommendations ?? [])
            report.AddFact($"{where}: {finding.Name} ({finding.EventId}): {PlainText.Line(finding.Message)}");
    }

    private void InspectProcess(FastCgiAddress address)
    {
        if (ListeningProcess.Find(address) is not { } listener)
            return;

        var where = address.ToString();
        var waiting = $"{listener.Waiting} of {listener.Backlog} connections wait";
        report.AddFact($"{where}: {waiting}{(listener.ProcessId is { } id ? $" for {listener.Name}, process {id}" : "")}");
        if (listener.Backlog > 0 && listener.Waiting > listener.Backlog * 0.8)
            report.AddProblem("backlog-full", where, waiting, "nginx answers 502 and logs '(11: Resource temporarily unavailable)'", MoreBacklog, Queue);
        else if (ListeningProcess.ReadLongestBacklog() is { } longest && longest == listener.Backlog && longest < 4096)
            report.AddNote("backlog-cut", where, $"net.core.somaxconn limits the queue to {longest}",
                "with larger bursts of connections, nginx answers 502", MoreBacklog, Queue);
        if (listener.ReadDescriptors() is var (open, limit))
            ReportDescriptors(where, open, limit);
        if (listener.FindMissingHome() is { } missing)
        {
            report.AddNote(
                "ephemeral-keys", where, missing, "if the application has logins or forms, and names no folder for its keys, each restart signs users out",
                "StateDirectory=hello", "#ephemeral-key-repository");
        }
    }

    private void ReportDescriptors(string where, int open, int limit)
    {
        report.AddFact($"{where}: the process has {open} of {limit} descriptors open");
        if (open > limit * 0.8)
            report.AddProblem("descriptors", where, $"the process has {open} of {limit} descriptors open",
                "without any, it accepts no connection, and nginx answers 502", Descriptors, Queue);
        else if (limit <= 1024)
            report.AddNote("descriptors", where, $"the process may open {limit} descriptors", "it cannot have more connections and files together",
                Descriptors, Queue);
    }
}

/// <summary>A web server's limit of response headers.</summary>
internal sealed record HeadBuffer(string WebServer, long Size, string Consequence, string Line)
{
    /// <summary>Whether it limits each header, and not all headers together.</summary>
    public bool IsOfOneHeader { get; init; }

    /// <summary>Raises nginx's limit.</summary>
    public const string NginxLine = "fastcgi_buffer_size 16k;\nfastcgi_buffers 8 16k;";

    public static HeadBuffer OfNginx(long size) => new("nginx", size, "nginx answers 502 and logs 'upstream sent too big header'", NginxLine);
}
