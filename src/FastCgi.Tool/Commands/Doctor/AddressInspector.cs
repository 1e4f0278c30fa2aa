namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What the doctor may do, and the request that it sends.</summary>
/// <param name="IsOffline">Whether it only reads: it runs and sends nothing.</param>
/// <param name="IsTrusted">Whether to run modules named by a file that users other than root can change.</param>
internal sealed record DoctorOptions(
    string Path, (string Name, string Value)[] Parameters, TimeSpan Timeout, bool IsOffline, bool IsTrusted);

/// <summary>Checks an address: its socket, the protocol, and the process.</summary>
internal sealed class AddressInspector(
    DoctorReport report, DoctorOptions options, CancellationToken cancellationToken)
{
    private const string LongerQueue = "sysctl -w net.core.somaxconn=4096";

    private static readonly SocketError[] s_busy =
        [SocketError.WouldBlock, SocketError.TryAgain, SocketError.TimedOut, SocketError.NoBufferSpaceAvailable];

    private readonly Dictionary<string, ProbeResult> _seen = new(StringComparer.Ordinal);

    /// <param name="userName">The user that must be able to connect; null for any usual user of web servers.</param>
    /// <param name="buffer">The web server's limit of response headers; <see langword="null"/> for none.</param>
    public async Task InspectAsync(FastCgiAddress address, string? userName, HeadBuffer? buffer)
    {
        var where = address.ToString();
        if (address.EndPoint is IPEndPoint { Address: { AddressFamily: AddressFamily.InterNetwork } ip }
            && !where.StartsWith($"fastcgi://{ip}:", StringComparison.OrdinalIgnoreCase))
        {
            // .NET reads 010 as an octal number, other programs as a decimal one.
            report.Add(AddressRules.Ambiguous, new(where, $"it can be read as {ip}",
                Fix: "# write four decimal numbers without leading zeros, such as 127.0.0.1"));
            return;
        }

        if (options.IsOffline)
            return;

        if (OperatingSystem.IsLinux() && address.IsUnix && address.EndPoint.ToString() is ['/', ..] path
            && !InspectFile(path, userName))
            return;

        var isNew = !_seen.ContainsKey(where);
        var result = await ProbeAsync(address);
        if (!ReportFailure(where, result))
            return;
        if (isNew)
        {
            ReportResponse(where, result);
            var values = await CreateProbe(address).GetValuesAsync();
            report.AddFact($"{where}: GET_VALUES {values ?? "gets no response"}");
            if (OperatingSystem.IsLinux() && ListeningProcess.Find(address) is { } process)
                InspectProcess(where, process);
        }

        var size = buffer is { IsOfOneHeader: true } ? result.LongestHeader : result.HeadSize;
        if (size > buffer?.Size)
        {
            var what = buffer.IsOfOneHeader
                ? $"a response header of {size} bytes"
                : $"{size} bytes of response headers";
            report.Add(LimitRules.HeadBuffer, new(where, $"{options.Path} returns {what}, but the buffer of "
                + $"{buffer.Server} has only {buffer.Size} bytes", buffer.Effect, buffer.Fix));
        }
    }

    public async Task<bool> SpeaksFastCgiAsync(FastCgiAddress address)
        => !options.IsOffline && (await ProbeAsync(address)).Spoken == Spoken.FastCgi;

    private ApplicationProbe CreateProbe(FastCgiAddress address)
        => new(address, options.Path, options.Parameters, options.Timeout, cancellationToken);

    private async Task<ProbeResult> ProbeAsync(FastCgiAddress address)
        => _seen.TryGetValue(address.ToString(), out var seen)
            ? seen
            : _seen[address.ToString()] = await CreateProbe(address).RunAsync();

    private bool InspectFile(string path, string? userName)
    {
        var own = userName is null ? null : LocalAccounts.Find(userName);
        List<LocalAccount> wanted = own is not null
            ? [own]
            : [.. LocalAccounts.OfWebServers.Select(LocalAccounts.Find).OfType<LocalAccount>()];
        var socket = SocketFile.Read(path);
        if (socket is not { IsSocket: true })
        {
            var group = wanted.Count > 0 ? wanted[0].Group : "www-data";
            report.Add(AddressRules.NoSocket, new(path,
                socket is null ? "it does not exist, or you may not enter a parent folder" : $"it is a {socket.Type}",
                Fix: CreateAddress(path, group)));
            return false;
        }

        var folders = SocketFile.ReadFolders(path).OfType<SocketFile>().ToList();
        var obstacles = wanted.Select(user => (User: user, File: SocketFile.FindObstacle(socket, folders, user)))
            .ToList();
        var open = obstacles.Where(static pair => pair.File is null).Select(static pair => pair.User.Name).ToList();
        var who = wanted.Count == 0 ? "; this machine has no web-server user" : "";
        if (open.Count > 0)
            who = $"; {string.Join(", ", open)} can connect";
        report.AddFact($"{path}: {socket.Describe()}{who}");
        if (open.Count > 0 || obstacles is not [var (user, file), ..])
            return true;

        var names = string.Join(", ", wanted.Select(static each => each.Name));
        if (file == socket)
            report.Add(AddressRules.Permission, new(path, $"{socket.Describe()}: {names} cannot connect",
                Fix: CreateAddress(path, user.Group)));
        else
            report.Add(AddressRules.Permission, new(file!.Path,
                $"{file.Describe()}: {names} cannot enter this folder of {path}", Fix: $"chmod o+x {file.Path}"));
        return true;
    }

    private static string CreateAddress(string path, string group)
        => $"--urls 'fastcgi://unix:{path}?mode=0660&group={group}'";

    /// <returns>Whether an application speaks FastCGI.</returns>
    private bool ReportFailure(string where, ProbeResult result)
    {
        if (result.ConnectError == SocketError.AccessDenied)
            throw CannotRun(
                $"You are not permitted to connect to {where}. Run this as root or as the web server's user.");

        var (rule, text, fix) = result switch
        {
            { ConnectError: { } busy } when s_busy.Contains(busy) => (AddressRules.BacklogFull,
                $"the connection is not accepted ({busy}): its queue is full, or a firewall drops it", LongerQueue),
            { ConnectError: { } error }
                => (AddressRules.NobodyListens, $"the connection failed ({error})", $"--urls {where}"),
            { Spoken: (Spoken.Http or Spoken.Tls) and var other } => (AddressRules.NotFastCgi,
                $"the application speaks {other.ToString().ToUpperInvariant()}, not FastCGI", $"--urls {where}"),
            { Spoken: Spoken.FastCgi } => (null, "", ""),
            { Flaw: ApplicationProbe.Silence } => (AddressRules.NoAnswer,
                Invariant($"it accepts connections, but sends no response within {options.Timeout.TotalSeconds} s"),
                "dotnet-stack report -p PID"),
            _ => (AddressRules.NoAnswer, $"its response is not FastCGI: {result.Flaw}", "dotnet-stack report -p PID"),
        };
        if (rule is not null)
            report.Add(rule, new(where, text, Fix: fix));
        return rule is null;
    }

    private void ReportResponse(string where, ProbeResult result)
    {
        if (result.Flaw is { } flaw)
        {
            report.Add(AddressRules.NoAnswer,
                new(where, $"GET {options.Path}: {flaw}", Fix: "fastcgi request ADDRESS / -v"));
            return;
        }

        var (status, size, time) = (result.Status, result.HeadSize, result.Elapsed.TotalMilliseconds);
        report.AddFact(
            Invariant($"{where}: GET {options.Path} returns {status} in {time:0} ms, {size} bytes of headers"));
        if (result.IsPhp)
            report.Add(AddressRules.PhpFpm, new(where, "php-fpm responds with 'Primary script unknown'",
                Fix: "--urls fastcgi://127.0.0.1:9001"));
        if (status >= 500)
            report.Add(AddressRules.ErrorStatus, new(where, $"GET {options.Path} returns {status}",
                Fix: "--Logging:LogLevel:FastCgi.AspNetCore Debug"));
    }

    private void InspectProcess(string where, ListeningProcess listener)
    {
        var waiting = $"{listener.Waiting} of {listener.Backlog} connections wait";
        report.AddFact(
            $"{where}: {waiting}{(listener.ProcessId is { } id ? $" for {listener.Name}, process {id}" : "")}");
        if (listener.Backlog > 0 && listener.Waiting > listener.Backlog * 0.8)
            report.Add(AddressRules.BacklogFull, new(where, waiting, Fix: LongerQueue));
        if (ListeningProcess.ReadDescriptors(listener.ProcessId) is not var (open, limit))
            return;

        var seen = $"the process has {open} of {limit} descriptors open";
        report.AddFact($"{where}: {seen}");
        if (open > limit * 0.8)
            report.Add(AddressRules.Descriptors, new(where, seen, Fix: "LimitNOFILE=65536"));
    }
}
