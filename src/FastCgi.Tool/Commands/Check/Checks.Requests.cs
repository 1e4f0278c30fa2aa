namespace FastCgi.Tool.Commands.Check;

/// <content>Requests: roles, aborts, bodies (sections 5 and 6).</content>
internal sealed partial class Checks
{
    private const int LargeBody = 1_000_000;

    private IEnumerable<(string Id, Run Run)> Requests =>
    [
        ("unknown-role", async () =>
        {
            var response = await AskAsync(
                Begin(role: 77), Stream(RecordType.Params, 1, CreateParams()), Record(RecordType.Stdin, 1));
            return response.IsRefused(FastCgiProtocolStatus.UnknownRole) ? "" : throw Fail(response.Describe());
        }),
        ("authorizer", () => RoleAsync(2, CreateParams(), [])),
        ("filter", () => RoleAsync(
            3, CreateParams(extra: [("FCGI_DATA_LENGTH", "0"), ("FCGI_DATA_LAST_MOD", "0")]),
                [.. Record(RecordType.Stdin, 1), .. Record(RecordType.Data, 1)])),
        ("abort-begun", () => AbortAsync(Begin())),
        ("abort-params", () => AbortAsync(Begin(), Record(RecordType.Params, 1, CreateParams()))),
        ("abort-body", () => AbortAsync(Begin(), Stream(RecordType.Params, 1, CreateParams("POST", 100)),
            Record(RecordType.Stdin, 1, "half"u8))),
        ("before-stdin", async () =>
        {
            var peer = await ConnectAsync(Begin(), Stream(RecordType.Params, 1, CreateParams()));
            if (await peer.ReadRecordAsync(_quiet) is not (null, var problem))
                return "it does not wait";
            if (problem != CheckPeer.Silent)
                throw Fail(problem!);

            await peer.SendAsync(Record(RecordType.Stdin, 1));
            Require(await peer.ReadResponseAsync());
            return "it waits";
        }),
        ("stdin-early", () => AnswerAsync(
            Begin(), Record(RecordType.Params, 1, CreateParams("POST", 4)), Record(RecordType.Stdin, 1, "body"u8),
            Record(RecordType.Params, 1), Record(RecordType.Stdin, 1))),
        ("large-body", async () =>
        {
            var peer = await ConnectAsync();
            // Sends while it reads: the server may respond early, and need not read everything.
            var sending = peer.SendAsync(CreatePost(LargeBody));
            var response = await peer.ReadResponseAsync();
            await sending;
            return response.IsWhole ? RequireForm(response) : throw Fail(response.Describe());
        }),
        ("body-too-short", () => BodyLengthAsync(10, 20)),
        ("body-too-long", () => BodyLengthAsync(20, 10)),
        ("head", async () =>
        {
            var response = await AskAsync(CreateRequest(CreateParams("HEAD")));
            return response.IsWhole && response.Body.Length == 0
                ? $"{response.Status}"
                : throw Fail($"{response.Describe()}, with a body of {response.Body.Length} bytes");
        }),
    ];

    private async Task<string> RoleAsync(int role, byte[] parameters, byte[] input)
    {
        var response = await AskAsync(Begin(role: role), Stream(RecordType.Params, 1, parameters), input);
        if (response.IsRefused(FastCgiProtocolStatus.UnknownRole))
            return "refused with UNKNOWN_ROLE";
        return response.IsWhole ? $"served: {response.Status}" : throw Fail(response.Describe());
    }

    private async Task<string> AbortAsync(params byte[][] begun)
    {
        var peer = await ConnectAsync([.. begun, Record(RecordType.AbortRequest, 1)]);
        var response = await peer.ReadResponseAsync();
        RequireForm(response);
        if (response.End is not { } end)
        {
            peer.Dispose();
            throw Fail(await SurviveAsync(response.Describe()));
        }

        await WithPrefixAsync(
            "END_REQUEST arrives, but the next request on the connection is not served", NextAsync(peer));
        return $"{end.ProtocolStatus}, appStatus {end.AppStatus}";
    }

    private static string RequireForm(CheckResponse response)
        => response.Flaws.Length > 0 ? throw Fail(string.Join(", ", response.Flaws)) : response.Describe();

    private async Task<string> BodyLengthAsync(int sent, int declared)
    {
        var peer = await ConnectAsync(CreatePost(sent, declared));
        var response = await peer.ReadResponseAsync();
        if (response.Problem == CheckPeer.Closed)
            return await SurviveAsync(response.Describe());
        RequireForm(response);
        if (response.End is null)
            throw Fail(response.Describe());

        await peer.SendAsync(CreateGet());
        if (FindFault(await peer.ReadResponseAsync()) is not { } fault)
            return response.Describe();
        return fault == "closed without a response"
            ? await SurviveAsync($"{response.Describe()}, and the connection is closed after it")
            : throw Fail($"{response.Describe()}, and then: {fault}");
    }
}
