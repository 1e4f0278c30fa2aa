using FastCgi.Tool.Commands.Doctor;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>The server under test, and what is known about it so far.</summary>
internal sealed class CheckContext(
    FastCgiAddress address, string path, (string Name, string Value)[] more, TimeSpan timeout)
{
    private long _start = Stopwatch.GetTimestamp();

    public string Path => path;

    /// <summary>How long to wait for a record that must not arrive.</summary>
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
    public IEnumerable<(string Name, string Value)> GetParams(
        string method = "GET", int? length = null, params (string Name, string Value)[] extra)
    {
        var type = length is null ? "" : "application/octet-stream";
        var made = ApplicationProbe.CreateParameters("fastcgi-check", method, path, type, $"{length}");
        return made.Select(static parameter => (parameter.Name, parameter.Value))
            .Where(pair => !more.Any(own => own.Name == pair.Name))
            .Concat(more).Concat(extra);
    }

    public byte[] CreateParams(string method = "GET", int? length = null, params (string Name, string Value)[] extra)
        => Pairs(GetParams(method, length, extra));

    public byte[] CreateGet(int id = 1, bool keepsConnection = true, params (string Name, string Value)[] extra)
        => [.. Begin(id, keepsConnection), .. Stream(RecordType.Params, id, CreateParams(extra: extra)),
            .. Record(RecordType.Stdin, id)];

    public static byte[] CreateRequest(byte[] parameters, ReadOnlySpan<byte> body = default)
        => [.. Begin(), .. Stream(RecordType.Params, 1, parameters), .. Stream(RecordType.Stdin, 1, body)];

    public byte[] CreatePost(int length, int? declared = null)
        => CreateRequest(CreateParams("POST", declared ?? length), new byte[length]);

    public async Task<CheckAnswer> AskAsync(byte[] bytes, int id = 1)
    {
        using var peer = await ConnectAsync(bytes);
        return await peer.ReadAnswerAsync(id);
    }

    public async Task<string> ExpectSameAsync(byte[] bytes, int id = 1) => Require(await AskAsync(bytes, id));

    public async Task<string> ExpectNextAsync(CheckPeer peer, int id = 1)
    {
        await peer.SendAsync(CreateGet(id));
        return Require(await peer.ReadAnswerAsync(id));
    }

    public string Require(CheckAnswer answer) => FindFault(answer) is { } fault ? throw CheckException.Fail(fault) : "";

    /// <returns>What is wrong with the response, or <see langword="null"/>.</returns>
    public string? FindFault(CheckAnswer answer)
    {
        if (answer.Flaws.Length > 0)
            return string.Join(", ", answer.Flaws.Distinct());
        if (!answer.IsWhole)
            return answer.Describe();
        return answer.Status == Status ? null : $"status {answer.Status}, where a plain GET returns {Status}";
    }

    public async Task<bool> IsAliveAsync() => (await AskAsync(CreateGet(keepsConnection: false))).IsWhole;

    public async Task<string> SurviveAsync(string what = "")
        => await IsAliveAsync()
            ? what
            : throw CheckException.Fail(what.Length > 0
                ? $"{what}; then a plain GET gets no response"
                : "a plain GET no longer gets a response");

    public async Task<CheckException> ChooseAsync(string what) => CheckException.Choice(await SurviveAsync(what));
}
