using FastCgi.AspNetCore.Protocol;
using FastCgi.Client;

namespace FastCgi.Tool.Commands.Check;

/// <summary>The server that is checked, and what is known of it so far.</summary>
internal sealed class CheckContext(FastCgiAddress address, string path, IReadOnlyList<(string Name, string Value)> more, TimeSpan timeout)
{
    public TimeSpan Timeout { get; } = timeout;

    /// <summary>How long to wait for what should not come.</summary>
    public TimeSpan Quiet { get; } = timeout < TimeSpan.FromSeconds(1) ? timeout : TimeSpan.FromSeconds(1);

    /// <summary>The status of a plain GET.</summary>
    public int Status { get; set; }

    public async Task<CheckPeer> ConnectAsync() => await CheckPeer.ConnectAsync(address, Timeout);

    /// <summary>The parameters of a request, as nginx sends them.</summary>
    public byte[] CreateParams(string method = "GET", int? length = null,
        params (string Name, string Value)[] extra) => CheckRecords.Pairs(GetParams(method, length, extra));

    public IEnumerable<(string Name, string Value)> GetParams(string method = "GET", int? length = null, params (string Name, string Value)[] extra)
    {
        var question = path.IndexOf('?', StringComparison.Ordinal);
        var plain = question < 0 ? path : path[..question];
        (string Name, string Value)[] made =
        [
            ("QUERY_STRING", question < 0 ? "" : path[(question + 1)..]), ("REQUEST_METHOD", method),
                ("CONTENT_TYPE", length is null ? "" : "application/octet-stream"),
            ("CONTENT_LENGTH", length is null ? "" : $"{length}"), ("SCRIPT_NAME", plain), ("REQUEST_URI", path), ("DOCUMENT_URI", plain),
                ("SERVER_PROTOCOL", "HTTP/1.1"),
            ("REQUEST_SCHEME", "http"), ("GATEWAY_INTERFACE", "CGI/1.1"), ("SERVER_SOFTWARE", "fastcgi-check"), ("REMOTE_ADDR", "127.0.0.1"),
                ("REMOTE_PORT", "0"),
            ("SERVER_ADDR", "127.0.0.1"), ("SERVER_PORT", "80"), ("SERVER_NAME", "localhost"), ("HTTP_HOST", "localhost"), ("HTTP_USER_AGENT", "fastcgi-check"),
        ];
        return made.Where(pair => !more.Any(own => own.Name == pair.Name)).Concat(more).Concat(extra);
    }

    /// <summary>A whole GET.</summary>
    public byte[] CreateGet(int id = 1, bool keepsConnection = true, params (string Name, string Value)[] extra) =>
    [
        .. CheckRecords.Begin(id, keepsConnection), .. CheckRecords.Stream(RecordType.Params, id, CreateParams(extra: extra)),
            .. CheckRecords.Record(RecordType.Stdin, id),
    ];

    /// <summary>A whole POST.</summary>
    public byte[] CreatePost(int length, int id = 1, bool keepsConnection = true, int? told = null) =>
    [
        .. CheckRecords.Begin(id, keepsConnection), .. CheckRecords.Stream(RecordType.Params, id, CreateParams("POST", told ?? length)),
        .. CheckRecords.Stream(RecordType.Stdin, id, new byte[length]),
    ];

    /// <summary>Sends on a connection of its own and reads the answer.</summary>
    public async Task<CheckAnswer> AskAsync(byte[] bytes, int id = 1)
    {
        using var peer = await ConnectAsync();
        await peer.SendAsync(bytes);
        return await peer.ReadAnswerAsync(id);
    }

    /// <summary>Sends, and expects what a plain GET gets.</summary>
    public async Task<CheckResult> ExpectSameAsync(byte[] bytes, int id = 1) => Judge(await AskAsync(bytes, id));

    /// <summary>Whether an answer is like that to a plain GET, and well-formed.</summary>
    public CheckResult Judge(CheckAnswer answer)
    {
        if (answer.Flaws.Length > 0)
            return CheckResult.Fail(string.Join(", ", answer.Flaws.Distinct()));
        if (!answer.IsWhole)
            return CheckResult.Fail(answer.Describe());
        return answer.Status == Status ? CheckResult.Pass() : CheckResult.Fail($"status {answer.Status}, where a plain GET has {Status}");
    }

    /// <summary>Whether a plain GET on a new connection is still answered.</summary>
    public async Task<bool> IsAliveAsync() => (await AskAsync(CreateGet(keepsConnection: false))).IsWhole;

    /// <summary>Whether the next request on a connection is answered as ever.</summary>
    public async Task<CheckResult> ExpectNextAsync(CheckPeer peer, int id = 1)
    {
        await peer.SendAsync(CreateGet(id));
        return Judge(await peer.ReadAnswerAsync(id));
    }

    /// <summary>For what the server may choose: it must live on.</summary>
    public async Task<CheckResult> ChooseAsync(string what)
        => await IsAliveAsync() ? CheckResult.Choice(what) : CheckResult.Fail($"{what}; and then a plain GET is not answered");
}
