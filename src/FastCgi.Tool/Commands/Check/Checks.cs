namespace FastCgi.Tool.Commands.Check;

/// <summary>The checks of a server. Each returns details; a fault is a <see cref="CheckException"/>.</summary>
internal sealed partial class Checks(
    FastCgiAddress address, string path, (string Name, string Value)[] more, TimeSpan timeout)
{
    // Statements and sections of the specification, by the short names of the checks.
    private static readonly Dictionary<string, string[]> s_texts = ToolCommand.ReadTable("checks.tsv");

    /// <summary>The time to wait for a record that must not arrive.</summary>
    private readonly TimeSpan _quiet = timeout < TimeSpan.FromSeconds(1) ? timeout : TimeSpan.FromSeconds(1);

    private readonly List<CheckPeer> _peers = [];
    private long _start = Stopwatch.GetTimestamp();

    // Whether the server serves one connection at a time, so that others wait.
    private bool _isSerial;

    private delegate Task<string> Run();

    public static IReadOnlyCollection<string> Ids => s_texts.Keys;

    /// <summary>The status of a plain GET.</summary>
    public int Status { get; private set; }

    /// <exception cref="ToolException">A plain GET gets no response.</exception>
    public async Task<List<CheckedStatement>> RunAsync(
        string[] only, bool isHostile, TimeSpan pause, CancellationToken cancellationToken)
    {
        var plain = await AskAsync(CreateGet(keepsConnection: false));
        if (!plain.IsWhole)
            throw Failure($"The server cannot be checked: a GET of {path} gets no response ({plain.Describe()}).");

        Status = plain.Status;
        var results = new List<CheckedStatement>();
        IEnumerable<(string Id, Run Run)> all =
            [.. Records, .. Parameters, .. Management, .. Connections, .. Requests, .. Shared];
        if (isHostile || only.Length > 0)
            all = all.Concat(Hostile);
        foreach (var (id, run) in all.Where(check => only.Length == 0 || only.Contains(check.Id)))
        {
            var (verdict, detail) = await RunAsync(run);
            results.Add(new CheckedStatement(id, verdict, s_texts[id][2], s_texts[id][1], detail));
            await Task.Delay(pause, cancellationToken);
        }

        return results;
    }

    private async Task<(string Verdict, string Detail)> RunAsync(Run run)
    {
        try
        {
            _start = Stopwatch.GetTimestamp();
            return ("pass", await run());
        }
        catch (CheckException exception)
        {
            return (exception.Verdict, exception.Message);
        }
        catch (SocketException exception)
        {
            return ("fail", exception.Message);
        }
        finally
        {
            _peers.ForEach(static peer => peer.Dispose());
            _peers.Clear();
        }
    }

    /// <summary>Connects and sends. A check takes at most three times the timeout of a response.</summary>
    private async Task<CheckPeer> ConnectAsync(params byte[][] parts)
    {
        var peer = await CheckPeer.ConnectAsync(address, () => TimeSpan.FromTicks(
            Math.Clamp(((3 * timeout) - Stopwatch.GetElapsedTime(_start)).Ticks, 0, timeout.Ticks)));
        _peers.Add(peer);
        await peer.SendAsync(parts);
        return peer;
    }

    private async Task<CheckResponse> AskAsync(params byte[][] parts)
    {
        var peer = await ConnectAsync(parts);
        var response = await peer.ReadResponseAsync();
        peer.Dispose();
        return response;
    }

    /// <summary>The parameters of a request, as nginx sends them.</summary>
    private IEnumerable<(string Name, string Value)> GetParameters(
        string method = "GET", int? length = null, params (string Name, string Value)[] extra)
    {
        var type = length is null ? "" : "application/octet-stream";
        var made = RequestTarget.OfThisMachine(path).CreateParameters(method, "fastcgi-check", type, $"{length}");
        return made.Select(static parameter => (parameter.Name, parameter.Value))
            .Where(pair => !more.Any(own => own.Name == pair.Name)).Concat(more)
            .Where(pair => !extra.Any(own => own.Name == pair.Name)).Concat(extra);
    }

    private byte[] CreateParams(string method = "GET", int? length = null, params (string Name, string Value)[] extra)
        => Pairs(GetParameters(method, length, extra));

    private byte[] CreateGet(int id = 1, bool keepsConnection = true, int size = ProtocolConstants.MaxContentLength,
        int padding = 0, params (string Name, string Value)[] extra)
        => [.. Begin(id, keepsConnection), .. Stream(RecordType.Params, id, CreateParams(extra: extra), size, padding),
            .. Record(RecordType.Stdin, id, padding: padding)];

    private static byte[] CreateRequest(byte[] parameters, ReadOnlySpan<byte> body = default)
        => [.. Begin(), .. Stream(RecordType.Params, 1, parameters), .. Stream(RecordType.Stdin, 1, body)];

    private byte[] CreatePost(int length, int? declared = null)
        => CreateRequest(CreateParams("POST", declared ?? length), new byte[length]);

    /// <summary>Expects the response to a plain GET.</summary>
    private async Task<string> SameAsync(params byte[][] parts) => Require(await AskAsync(parts));

    private async Task<string> NextAsync(CheckPeer peer, int id = 1)
    {
        await peer.SendAsync(CreateGet(id));
        return Require(await peer.ReadResponseAsync(id));
    }

    private string Require(CheckResponse response) => FindFault(response) is { } fault ? throw Fail(fault) : "";

    /// <returns>The fault of the response, or <see langword="null"/>.</returns>
    private string? FindFault(CheckResponse response)
    {
        if (response.Flaws.Length > 0)
            return string.Join(", ", response.Flaws.Distinct());
        if (!response.IsWhole)
            return response.Describe();
        return response.Status == Status ? null : $"status {response.Status}, where a plain GET returns {Status}";
    }

    /// <summary>Whether a request is served like a plain GET.</summary>
    private bool IsServed(CheckResponse response) => response.IsWhole && response.Status == Status;

    private async Task<bool> IsAliveAsync() => (await AskAsync(CreateGet(keepsConnection: false))).IsWhole;

    /// <summary>Expects that the server still serves others. What else it does is unspecified.</summary>
    private async Task<string> SurviveAsync(string what = "")
        => await IsAliveAsync()
            ? what
            : throw Fail($"{what}; then a plain GET gets no response".TrimStart(';', ' '));

    /// <summary>Expects any response.</summary>
    private async Task<string> AnswerAsync(params byte[][] parts)
    {
        var response = await AskAsync(parts);
        return response.Problem == CheckPeer.Silent
            ? throw Fail(response.Describe())
            : await SurviveAsync(response.Describe());
    }
}

/// <summary>Ends a check with a verdict other than a pass.</summary>
internal sealed class CheckException(string verdict, string detail) : Exception(detail)
{
    public string Verdict { get; } = verdict;

    public static CheckException Fail(string detail) => new("fail", detail);
    public static CheckException Skipped(string detail) => new("skipped", detail);
}
