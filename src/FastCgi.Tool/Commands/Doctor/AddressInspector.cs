using System.Globalization;
using System.Net.Sockets;
using System.Text.Json;
using FastCgi.AspNetCore.Accounts;
using FastCgi.AspNetCore.Status;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Looks at an address: its socket, what answers there, and the process behind it.</summary>
internal sealed class AddressInspector(DoctorReport report, DoctorSettings settings)
{
    private readonly Dictionary<string, StatusSnapshot?> _statuses = new(StringComparer.Ordinal);
    private readonly Dictionary<string, ProbeResult> _seen = new(StringComparer.Ordinal);

    /// <param name="address">Where to look.</param>
    /// <param name="users">Who must be able to connect; <see langword="null"/> for any of the users that web servers usually have.</param>
    /// <param name="headBuffer">What the web server takes of response headers; <see langword="null"/> for any.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async Task InspectAsync(FastCgiAddress address, IReadOnlyList<LocalAccount>? users, HeadBuffer? headBuffer, CancellationToken cancellationToken)
    {
        if (settings.IsOffline)
            return;

        var where = address.ToString();
        if (OperatingSystem.IsLinux() && address.EndPoint is UnixDomainSocketEndPoint && address.EndPoint.ToString() is ['/', ..] path && !InspectFile(path, users))
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
            report.AddProblem(
                DoctorRule.HeadBuffer, where, $"the {(buffer.IsOfOneHeader ? "longest response header" : "response headers")} of {settings.Path} have {size} bytes, and {buffer.WebServer}'s buffer for them has {buffer.Size}",
                buffer.Consequence, buffer.Line, "troubleshooting.md#response-headers-that-are-too-large");
        }
    }

    /// <summary>Looks at several addresses among which the requests of one client are shared out.</summary>
    public void InspectKeys(string where, IReadOnlyList<FastCgiAddress> all)
    {
        if (ShareKeys(all))
            return;

        report.AddNote(
            DoctorRule.KeysNotShared, where, $"requests are shared out among {all.Count} addresses, and their processes are not seen to have one folder for the keys of Data Protection",
            "unless the application names one, a login or form of one process is refused by the others",
            "builder.Services.AddDataProtection().SetApplicationName(\"hello\").PersistKeysToFileSystem(new DirectoryInfo(\"/var/lib/hello/keys\"));", "troubleshooting.md#ephemeral-key-repository");
    }

    /// <summary>What the application says of itself, if the command line names its status.</summary>
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
            using var client = new HttpClient(handler) { Timeout = settings.Timeout, MaxResponseContentBufferSize = 64 * 1024 * 1024 };
            using var response = await client.GetAsync(new Uri("http://localhost/" + path.TrimStart('/') + "?format=json"), cancellationToken);
            var status = response.IsSuccessStatusCode ? StatusReader.Read(await response.Content.ReadAsStringAsync(cancellationToken)) : null;
            if (status is null)
                report.AddFact($"{where}: {path} is answered with {(int)response.StatusCode}, and is no status");
            return status;
        }
        catch (Exception exception) when (exception is HttpRequestException or IOException or SocketException or JsonException || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            report.AddFact($"{where}: {path} is no status: {exception.Message}");
            return null;
        }
    }

    /// <summary>Whether FastCGI is spoken at an address, for a place that sends HTTP there.</summary>
    public async Task<bool> SpeaksFastCgiAsync(FastCgiAddress address, CancellationToken cancellationToken)
        => !settings.IsOffline && (await ProbeAsync(address, cancellationToken)).Spoken == Spoken.FastCgi;

    private ApplicationProbe CreateProbe(FastCgiAddress address) => new(address, settings.Path, settings.Parameters, settings.Timeout);

    private async Task<ProbeResult> ProbeAsync(FastCgiAddress address, CancellationToken cancellationToken)
        => _seen.TryGetValue(address.ToString(), out var seen) ? seen : _seen[address.ToString()] = await CreateProbe(address).RunAsync(cancellationToken);

    /// <summary>Finds users, without those that this machine does not have.</summary>
    public static IReadOnlyList<LocalAccount> FindAccounts(IEnumerable<string> names) => [.. names.Select(LocalAccounts.Find).OfType<LocalAccount>()];

    /// <returns>Whether it is a socket.</returns>
    private bool InspectFile(string path, IReadOnlyList<LocalAccount>? users)
    {
        if (SocketFile.Read(path) is not { } socket)
        {
            report.AddProblem(
                DoctorRule.NoSocket, path, "it does not exist, or a folder above it is closed to who runs this", "nginx answers 502 and logs '(2: No such file or directory)'; others answer 503",
                $"--urls fastcgi://unix:{path}", "troubleshooting.md#502-bad-gateway");
            return false;
        }

        if (!socket.IsSocket)
        {
            report.AddProblem(DoctorRule.NotASocket, path, $"it is a {socket.Type}", "no web server can connect to it", $"--urls fastcgi://unix:{path}", "troubleshooting.md#502-bad-gateway");
            return false;
        }

        var folders = SocketFile.ReadFolders(path);
        var wanted = users ?? FindAccounts(LocalAccounts.OfWebServers);
        var obstacles = wanted.Select(user => (User: user, File: SocketFile.FindObstacle(socket, folders, user))).ToList();
        var open = obstacles.Where(static pair => pair.File is null).Select(static pair => pair.User.Name).ToList();
        report.AddFact($"{path}: {socket.Describe()}{(wanted.Count == 0 ? "; this machine has no user of a web server" : open.Count > 0 ? $"; {string.Join(", ", open)} can connect" : "")}");
        if (open.Count == 0 && obstacles is [var (user, file), ..])
            ReportObstacle(path, socket, file!, user, string.Join(", ", wanted.Select(static each => each.Name)));
        return true;
    }

    private void ReportObstacle(string path, SocketFile socket, SocketFile obstacle, LocalAccount user, string names)
    {
        const string Consequence = "nginx answers 502 and logs '(13: Permission denied)'; others answer 503";
        const string Document = "troubleshooting.md#permission-denied";
        if (obstacle == socket)
            report.AddProblem(DoctorRule.Permission, path, $"{socket.Describe()}: {names} cannot connect", Consequence, $"--urls 'fastcgi://unix:{path}?mode=0660&group={user.Group}'", Document);
        else
            report.AddProblem(DoctorRule.Permission, obstacle.Path, $"{obstacle.Describe()}: {names} cannot pass this folder of {path}", Consequence, $"chmod o+x {obstacle.Path}", Document);
    }

    private void ReportNoConnection(string where, SocketError error)
    {
        if (error is SocketError.WouldBlock or SocketError.TryAgain or SocketError.TimedOut or SocketError.NoBufferSpaceAvailable)
        {
            report.AddProblem(
                DoctorRule.BacklogFull, where, $"the connection is not accepted ({error}): the queue of connections is full, or a firewall drops it",
                "nginx answers 502 or 504; for a unix socket it logs '(11: Resource temporarily unavailable)'", "sysctl -w net.core.somaxconn=4096", "troubleshooting.md#resource-temporarily-unavailable");
        }
        else if (error == SocketError.AccessDenied)
        {
            throw new ToolException(ExitCode.CannotRun, $"{where}: you may not connect to it yourself. Run this as root, or as the web server's user.");
        }
        else
        {
            report.AddProblem(
                DoctorRule.NobodyListens, where, $"there is no connection ({error})", "nginx answers 502 and logs '(111: Connection refused)'; others answer 503",
                $"--urls {(where.StartsWith("fastcgi://", StringComparison.Ordinal) ? where : "fastcgi://" + where)}", "troubleshooting.md#502-bad-gateway");
        }
    }

    /// <returns>Whether FastCGI is spoken.</returns>
    private bool ReportOtherProtocol(string where, ProbeResult result)
    {
        if (result.Spoken is Spoken.Http or Spoken.Tls)
        {
            var name = result.Spoken == Spoken.Http ? "HTTP" : "TLS";
            report.AddProblem(
                result.Spoken == Spoken.Http ? DoctorRule.SpeaksHttp : DoctorRule.SpeaksTls, where, $"what listens there speaks {name}, not FastCGI", "nginx answers 502 and logs 'upstream sent unsupported FastCGI protocol version'",
                $"--urls {where}", "troubleshooting.md#502-bad-gateway");
            return false;
        }

        if (result.Spoken == Spoken.Nothing)
        {
            report.AddProblem(
                DoctorRule.NoAnswer, where, $"it accepts connections and answers nothing within {settings.Timeout.TotalSeconds.ToString(CultureInfo.InvariantCulture)} s ({result.Flaw})",
                "the web server answers 504 or 502", "dotnet-stack report -p PID", "troubleshooting.md#504-gateway-timeout");
            return false;
        }

        return true;
    }

    private void ReportAnswer(string where, ProbeResult result)
    {
        if (result.Flaw is { } flaw)
        {
            report.AddProblem(DoctorRule.BadAnswer, where, $"GET {settings.Path}: {flaw}", "the web server answers 502", "fastcgi request ADDRESS / -v", "troubleshooting.md#502-bad-gateway");
            return;
        }

        report.AddFact(string.Create(CultureInfo.InvariantCulture, $"{where}: GET {settings.Path} is answered with {result.Status} in {result.Elapsed.TotalMilliseconds:0} ms, {result.HeadSize} bytes of headers"));
        if (result.IsPhp)
        {
            report.AddNote(
                DoctorRule.PhpFpm, where, "php-fpm answers, 'Primary script unknown'", "if an application of .NET ought to answer, the page is 'File not found.', for both have one address",
                "--urls fastcgi://127.0.0.1:9001", "troubleshooting.md#primary-script-unknown");
        }

        if (result.Status >= 500)
            report.AddProblem(DoctorRule.ErrorStatus, where, $"GET {settings.Path} is answered with {result.Status}", "so is the client", "--Logging:LogLevel:FastCgi.AspNetCore Debug", "troubleshooting.md#still-no-idea");
    }

    /// <summary>Whether one process answers at all of these addresses, or several that keep their keys in one folder, as far as that is seen.</summary>
    private bool ShareKeys(IReadOnlyList<FastCgiAddress> addresses)
    {
        if (settings.IsOffline || !OperatingSystem.IsLinux())
            return false;

        var processes = addresses.Select(ListeningProcess.Find).ToList();
        return processes.All(static process => process?.ProcessId is not null)
            && (processes.Select(static process => process!.ProcessId).Distinct().Count() == 1
                || processes.Select(static process => process!.FindKeyFolder()).Distinct().ToList() is [not null]);
    }

    /// <summary>What the application's own doctor has found.</summary>
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
        report.AddFact($"{where}: {listener.Waiting} of {listener.Backlog} connections wait{(listener.ProcessId is { } id ? $" for {listener.Name}, process {id}" : "")}");
        const string Queue = "troubleshooting.md#resource-temporarily-unavailable";
        if (listener.Backlog > 0 && listener.Waiting > listener.Backlog * 0.8)
            report.AddProblem(DoctorRule.BacklogFull, where, $"{listener.Waiting} of {listener.Backlog} connections wait", "nginx answers 502 and logs '(11: Resource temporarily unavailable)'", "sysctl -w net.core.somaxconn=4096", Queue);
        else if (ListeningProcess.ReadLongestBacklog() is { } longest && longest == listener.Backlog && longest < 4096)
            report.AddNote(DoctorRule.BacklogCut, where, $"net.core.somaxconn is {longest}, and cuts the queue to that", "with bursts of more connections, nginx answers 502", "sysctl -w net.core.somaxconn=4096", Queue);
        if (listener.ReadDescriptors() is var (open, limit))
            ReportDescriptors(where, open, limit, Queue);
        if (listener.FindMissingHome() is { } missing)
        {
            report.AddNote(
                DoctorRule.EphemeralKeys, where, missing, "if the application has logins or forms and sets no folder for its keys, users are logged out at each restart",
                "StateDirectory=hello", "troubleshooting.md#ephemeral-key-repository");
        }
    }

    private void ReportDescriptors(string where, int open, int limit, string document)
    {
        report.AddFact($"{where}: the process has {open} of {limit} descriptors open");
        if (open > limit * 0.8)
            report.AddProblem(DoctorRule.Descriptors, where, $"the process has {open} of {limit} descriptors open", "without any it accepts no connection, and nginx answers 502", "LimitNOFILE=65536", document);
        else if (limit <= 1024)
            report.AddNote(DoctorRule.Descriptors, where, $"the process may have {limit} descriptors", "with about that many connections and files it accepts no more", "LimitNOFILE=65536", document);
    }
}

/// <summary>What a web server takes of response headers, and what becomes of more.</summary>
internal sealed record HeadBuffer(string WebServer, long Size, string Consequence, string Line)
{
    /// <summary>Whether it is one header that has to fit, and not all of them together.</summary>
    public bool IsOfOneHeader { get; init; }

    /// <summary>What lets nginx take more.</summary>
    public const string NginxLine = "fastcgi_buffer_size 16k;\nfastcgi_buffers 8 16k;";

    public static HeadBuffer OfNginx(long size) => new("nginx", size, "nginx answers 502 and logs 'upstream sent too big header'", NginxLine);
}
