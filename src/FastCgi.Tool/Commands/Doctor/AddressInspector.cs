using FastCgi.AspNetCore.Accounts;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks an address: its socket, what answers there, and the process.</summary>
internal sealed class AddressInspector(DoctorReport report, ParseResult arguments)
{
    private static readonly SocketError[] s_busy =
        [SocketError.WouldBlock, SocketError.TryAgain, SocketError.TimedOut, SocketError.NoBufferSpaceAvailable];

    private readonly Dictionary<string, ProbeResult> _seen = new(StringComparer.Ordinal);
    private readonly string _path = arguments.GetText("--path")!;
    private readonly bool _isOffline = arguments.Has("--no-connect");

    public static IReadOnlyList<LocalAccount>? FindAccounts(string? name)
        => OperatingSystem.IsLinux() && name is not null && LocalAccounts.Find(name) is { } account ? [account] : null;

    /// <param name="users">The users that must be able to connect; null for any usual user of web servers.</param>
    /// <param name="headBuffer">The web server's limit of response headers; <see langword="null"/> for none.</param>
    public async Task InspectAsync(FastCgiAddress address, IReadOnlyList<LocalAccount>? users, HeadBuffer? headBuffer,
        CancellationToken cancellationToken)
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
            && !InspectFile(path, users))
            return;

        var isNew = !_seen.ContainsKey(where);
        var result = await ProbeAsync(address, cancellationToken);
        if (!ReportFailure(where, result))
            return;
        if (isNew)
        {
            ReportAnswer(where, result);
            var values = await CreateProbe(address).GetValuesAsync(cancellationToken);
            report.AddFact($"{where}: GET_VALUES {values ?? "gets no response"}");
            if (OperatingSystem.IsLinux() && ListeningProcess.Find(address) is { } process)
                InspectProcess(where, process);
        }

        if (headBuffer is { } buffer && (buffer.IsOfOneHeader ? result.LongestHeader : result.HeadSize) is var size
            && size > buffer.Size)
        {
            report.Add(buffer.Rule, new(where, _path, $"{size}", $"{buffer.Size}"));
        }
    }

    /// <summary>
    /// Checks whether the processes at several addresses share their Data Protection keys: one process, or several with
    /// the same key folder.
    /// </summary>
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

    public async Task<bool> SpeaksFastCgiAsync(FastCgiAddress address, CancellationToken cancellationToken)
        => !_isOffline && (await ProbeAsync(address, cancellationToken)).Spoken == Spoken.FastCgi;

    private ApplicationProbe CreateProbe(FastCgiAddress address)
        => new(address, _path, arguments.GetParameters(), arguments.GetTimeout());

    private async Task<ProbeResult> ProbeAsync(FastCgiAddress address, CancellationToken cancellationToken)
        => _seen.TryGetValue(address.ToString(), out var seen)
            ? seen
            : _seen[address.ToString()] = await CreateProbe(address).RunAsync(cancellationToken);

    private bool InspectFile(string path, IReadOnlyList<LocalAccount>? users)
    {
        if (SocketFile.Read(path) is not { } socket)
        {
            report.Add("address.no-socket", new(path));
            return false;
        }

        if (!socket.IsSocket)
        {
            report.Add("address.not-a-socket", new(path, socket.Type));
            return false;
        }

        var folders = SocketFile.ReadFolders(path);
        var wanted = users ?? [.. LocalAccounts.OfWebServers.Select(LocalAccounts.Find).OfType<LocalAccount>()];
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
        switch (result)
        {
            case { ConnectError: SocketError.AccessDenied }:
                throw new ToolException(ExitCode.CannotRun,
                    $"You are not permitted to connect to {where}. Run this as root or as the web server's user.");
            case { ConnectError: { } busy } when s_busy.Contains(busy):
                report.Add("address.backlog-full.refused", new(where, $"{busy}"));
                return false;
            case { ConnectError: { } error }:
                report.Add("address.nobody-listens", new(where, $"{error}"));
                return false;
            case { Spoken: Spoken.Http or Spoken.Tls }:
                report.Add($"address.speaks-{result.Spoken.ToString().ToLowerInvariant()}", new(where));
                return false;
            case { Spoken: Spoken.Nothing, Flaw: ApplicationProbe.Silence }:
                var seconds = Invariant($"{arguments.GetTimeout().TotalSeconds}");
                report.Add("address.no-answer.silent", new(where, seconds));
                return false;
            case { Spoken: Spoken.Nothing }:
                report.Add("address.no-answer.other", new(where, result.Flaw ?? ""));
                return false;
            default:
                return true;
        }
    }

    private void ReportAnswer(string where, ProbeResult result)
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
