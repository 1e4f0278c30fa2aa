using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>The server under test, and its known properties.</summary>
internal sealed class CheckContext(
    FastCgiAddress address, string path, (string Name, string Value)[] more, TimeSpan timeout)
{
    private long _start = Stopwatch.GetTimestamp();

    public string Path => path;

    /// <summary>The time to wait for a record that must not arrive.</summary>
    public TimeSpan Quiet { get; } = timeout < TimeSpan.FromSeconds(1) ? timeout : TimeSpan.FromSeconds(1);
    public int Status { get; set; }

    /// <summary>Whether the server serves one connection at a time, so that others wait.</summary>
    public bool IsSerial { get; set; }

    public void StartClock() => _start = Stopwatch.GetTimestamp();

    /// <summary>Connects and sends. A check takes at most three times the timeout of a response.</summary>
    public async Task<CheckPeer> ConnectAsync(params byte[][] parts)
    {
        var peer = await CheckPeer.ConnectAsync(address, () => TimeSpan.FromTicks(
            Math.Clamp(((3 * timeout) - Stopwatch.GetElapsedTime(_start)).Ticks, 0, timeout.Ticks)));
        await peer.SendAsync(parts);
        return peer;
    }

    /// <summary>The parameters of a request, as nginx sends them.</summary>
    public IEnumerable<(string Name, string Value)> GetParameters(
        string method = "GET", int? length = null, params (string Name, string Value)[] extra)
    {
        var type = length is null ? "" : "application/octet-stream";
        var made = RequestTarget.OfThisMachine(path).CreateParameters(method, "fastcgi-check", type, $"{length}");
        return made.Select(static parameter => (parameter.Name, parameter.Value))
            .Where(pair => !more.Any(own => own.Name == pair.Name)).Concat(more)
            .Where(pair => !extra.Any(own => own.Name == pair.Name)).Concat(extra);
    }

    public byte[] CreateParams(string method = "GET", int? length = null, params (string Name, string Value)[] extra)
        => Pairs(GetParameters(method, length, extra));

    public byte[] CreateGet(int id = 1, bool keepsConnection = true, int size = ProtocolConstants.MaxContentLength,
        int padding = 0, params (string Name, string Value)[] extra)
        => [.. Begin(id, keepsConnection), .. Stream(RecordType.Params, id, CreateParams(extra: extra), size, padding),
            .. Record(RecordType.Stdin, id, padding: padding)];

    public static byte[] CreateRequest(byte[] parameters, ReadOnlySpan<byte> body = default)
        => [.. Begin(), .. Stream(RecordType.Params, 1, parameters), .. Stream(RecordType.Stdin, 1, body)];

    public byte[] CreatePost(int length, int? declared = null)
        => CreateRequest(CreateParams("POST", declared ?? length), new byte[length]);

    public async Task<CheckResponse> AskAsync(params byte[][] parts)
    {
        using var peer = await ConnectAsync(parts);
        return await peer.ReadResponseAsync();
    }

    public async Task<string> ExpectSameAsync(params byte[][] parts) => Require(await AskAsync(parts));

    public async Task<string> ExpectNextAsync(CheckPeer peer, int id = 1)
    {
        await peer.SendAsync(CreateGet(id));
        return Require(await peer.ReadResponseAsync(id));
    }

    public string Require(CheckResponse response) => FindFault(response) is { } fault ? throw Fail(fault) : "";

    /// <returns>The fault of the response, or <see langword="null"/>.</returns>
    public string? FindFault(CheckResponse response)
    {
        if (response.Flaws.Length > 0)
            return string.Join(", ", response.Flaws.Distinct());
        if (!response.IsWhole)
            return response.Describe();
        return response.Status == Status ? null : $"status {response.Status}, where a plain GET returns {Status}";
    }

    /// <summary>Whether a request is served like a plain GET.</summary>
    public bool IsServed(CheckResponse response) => response.IsWhole && response.Status == Status;

    public async Task<bool> IsAliveAsync() => (await AskAsync(CreateGet(keepsConnection: false))).IsWhole;

    public async Task<string> SurviveAsync(string what = "")
    {
        if (await IsAliveAsync())
            return what;
        throw Fail(
            what.Length > 0 ? $"{what}; then a plain GET gets no response" : "a plain GET no longer gets a response");
    }

    public async Task<CheckException> ChooseAsync(string what) => Choice(await SurviveAsync(what));

    public async Task<CheckException> ChooseUnlessSilentAsync(CheckResponse response)
        => response.IsSilent ? Fail(response.Describe()) : await ChooseAsync(response.Describe());
}
