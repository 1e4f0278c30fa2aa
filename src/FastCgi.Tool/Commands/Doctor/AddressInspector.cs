namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks an address: its socket, the protocol, and the process.</summary>
internal sealed class AddressInspector(
    DoctorReport report, ParseResult arguments, CancellationToken cancellationToken)
{
    private static readonly SocketError[] s_busy =
        [SocketError.WouldBlock, SocketError.TryAgain, SocketError.TimedOut, SocketError.NoBufferSpaceAvailable];

    private readonly Dictionary<string, ProbeResult> _seen = new(StringComparer.Ordinal);
    private readonly string _path = arguments.GetText("--path")!;
    private readonly TimeSpan _timeout = arguments.GetTimeout();
    private readonly bool _isOffline = arguments.Has("--no-connect");

    /// <param name="userName">The user that must be able to connect; null for any usual user of web servers.</param>
    /// <param name="buffer">The web server's limit of response headers; <see langword="null"/> for none.</param>
    public async Task InspectAsync(FastCgiAddress address, string? userName, HeadBuffer? buffer)
    {
        var where = address.ToString();
        if (address.EndPoint is IPEndPoint { Address: { AddressFamily: AddressFamily.InterNetwork } ip }
            && !where.StartsWith($"fastcgi://{ip}:", StringComparison.OrdinalIgnoreCase))
        {
            // .NET reads 010 as an octal number, other programs as a decimal one.
            report.Add("address.ambiguous", new(where, $"{ip}"));
            return;
        }

        if (_isOffline)
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
            report.Add(buffer.Rule, new(where, _path, $"{size}", $"{buffer.Size}"));
    }

    /// <summary>Checks whether the processes at several addresses share their Data Protection keys.</summary>
    public void InspectKeys(string where, IReadOnlyList<FastCgiAddress> all)
    {
        if (all.Count < 2)
            return;

        var processes = _isOffline || !OperatingSystem.IsLinux() ? [] : all.Select(ListeningProcess.Find).ToList();
        if (processes.Count > 0 && processes.All(static process => process?.ProcessId is not null)
            && (processes.DistinctBy(static process => process!.ProcessId).Count() == 1
                || processes.Select(static process => process!.FindKeyFolder()).Distinct().ToList() is [not null]))
            return;

        report.Add("address.keys-not-shared", new(where, $"{all.Count}"));
    }

    public async Task<bool> SpeaksFastCgiAsync(FastCgiAddress address)
        => !_isOffline && (await ProbeAsync(address)).Spoken == Spoken.FastCgi;

    private ApplicationProbe CreateProbe(FastCgiAddress address)
        => new(address, _path, arguments.GetParameters(), _timeout, cancellationToken);

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
            report.Add(socket is null ? "address.no-socket" : "address.not-a-socket",
                new(path, socket?.Type ?? "", group));
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
            report.Add("address.permission.socket", new(path, socket.Describe(), names, user.Group));
        else
            report.Add("address.permission.folder", new(file!.Path, file.Describe(), names, path));
        return true;
    }

    /// <returns>Whether an application speaks FastCGI.</returns>
    private bool ReportFailure(string where, ProbeResult result)
    {
        if (result.ConnectError == SocketError.AccessDenied)
            throw CannotRun(
                $"You are not permitted to connect to {where}. Run this as root or as the web server's user.");

        var (rule, value) = result switch
        {
            { ConnectError: { } busy } when s_busy.Contains(busy) => ("address.backlog-full.refused", $"{busy}"),
            { ConnectError: { } error } => ("address.nobody-listens", $"{error}"),
            { Spoken: Spoken.Http } => ("address.speaks-http", ""),
            { Spoken: Spoken.Tls } => ("address.speaks-tls", ""),
            { Spoken: Spoken.FastCgi } => ("", ""),
            { Flaw: ApplicationProbe.Silence } => ("address.no-answer.silent", Invariant($"{_timeout.TotalSeconds}")),
            _ => ("address.no-answer.other", result.Flaw ?? ""),
        };
        if (rule.Length > 0)
            report.Add(rule, new(where, value));
        return rule.Length == 0;
    }

    private void ReportResponse(string where, ProbeResult result)
    {
        if (result.Flaw is { } flaw)
        {
            report.Add("address.bad-answer", new(where, _path, flaw));
            return;
        }

        var (status, size, time) = (result.Status, result.HeadSize, result.Elapsed.TotalMilliseconds);
        report.AddFact(Invariant($"{where}: GET {_path} returns {status} in {time:0} ms, {size} bytes of headers"));
        if (result.IsPhp)
            report.Add("address.php-fpm", new(where));
        if (status >= 500)
            report.Add("address.error-status", new(where, _path, $"{status}"));
    }

    private void InspectProcess(string where, ListeningProcess listener)
    {
        var waiting = $"{listener.Waiting} of {listener.Backlog} connections wait";
        report.AddFact(
            $"{where}: {waiting}{(listener.ProcessId is { } id ? $" for {listener.Name}, process {id}" : "")}");
        if (listener.Backlog > 0 && listener.Waiting > listener.Backlog * 0.8)
            report.Add("address.backlog-full.waiting", new(where, waiting));
        if (ListeningProcess.ReadDescriptors(listener.ProcessId) is not var (open, limit))
            return;

        var seen = $"the process has {open} of {limit} descriptors open";
        report.AddFact($"{where}: {seen}");
        if (open > limit * 0.8)
            report.Add("address.descriptors", new(where, seen));
    }
}
