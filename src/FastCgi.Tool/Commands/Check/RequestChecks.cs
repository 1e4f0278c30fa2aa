using static FastCgi.Tool.Commands.Check.CheckContext;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Requests: roles, aborts, bodies (sections 5 and 6).</summary>
internal static class RequestChecks
{
    private const int LargeBody = 1_000_000;

    public static IEnumerable<CheckCase> All =>
    [
        new("unknown-role", async context =>
        {
            var response = await context.AskAsync(
                Begin(role: 77), Stream(RecordType.Params, 1, context.CreateParams()), Record(RecordType.Stdin, 1));
            return response.IsRefused(FastCgiProtocolStatus.UnknownRole) ? "" : throw Fail(response.Describe());
        }),
        new("authorizer", context => RoleAsync(context, 2, [], [])),
        new("filter", context => RoleAsync(
            context, 3, [("FCGI_DATA_LENGTH", "0"), ("FCGI_DATA_LAST_MOD", "0")],
                [.. Record(RecordType.Stdin, 1), .. Record(RecordType.Data, 1)])),
        new("abort-begun", context => AbortAsync(context, Begin())),
        new("abort-params", context => AbortAsync(
            context, [.. Begin(), .. Record(RecordType.Params, 1, context.CreateParams())])),
        new("abort-body", context => AbortAsync(
            context, [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams("POST", 100)),
                .. Record(RecordType.Stdin, 1, "half"u8)])),
        new("before-stdin", async context =>
        {
            using var peer = await context.ConnectAsync(Begin(), Stream(RecordType.Params, 1, context.CreateParams()));
            if (await peer.ReadRecordAsync(context.Quiet) is not (null, var problem))
                throw Choice("it does not wait");
            if (problem != CheckPeer.Silent)
                throw Fail(problem ?? "the connection is closed");

            await peer.SendAsync(Record(RecordType.Stdin, 1));
            context.Require(await peer.ReadResponseAsync());
            throw Choice("it waits");
        }),
        new("stdin-early", async context =>
        {
            var response = await context.AskAsync(
                Begin(), Record(RecordType.Params, 1, context.CreateParams("POST", 4)),
                Record(RecordType.Stdin, 1, "body"u8), Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            throw await context.ChooseUnlessSilentAsync(response);
        }),
        new("large-body", async context =>
        {
            using var peer = await context.ConnectAsync();
            // Sends while it reads: the server may respond early, and need not read everything.
            var sending = peer.SendAsync(context.CreatePost(LargeBody));
            var response = await peer.ReadResponseAsync();
            await sending;
            RequireForm(response);
            return response.IsWhole ? $"{response.Status}" : throw Fail(response.Describe());
        }),
        new("body-too-short", context => BodyLengthAsync(context, 10, 20)),
        new("body-too-long", context => BodyLengthAsync(context, 20, 10)),
        new("head", async context =>
        {
            var response = await context.AskAsync(CreateRequest(context.CreateParams("HEAD")));
            if (!response.IsWhole)
                throw Fail(response.Describe());
            return response.Body.Length == 0
                ? $"{response.Status}"
                : throw Fail($"{response.Status}, with a body of {response.Body.Length} bytes");
        }),
    ];

    private static async Task<string> RoleAsync(CheckContext context, int role, (string, string)[] extra, byte[] input)
    {
        var response = await context.AskAsync(
            Begin(role: role), Stream(RecordType.Params, 1, context.CreateParams(extra: extra)), input);
        if (response.IsRefused(FastCgiProtocolStatus.UnknownRole))
            throw Choice("refused with UNKNOWN_ROLE");
        throw response.IsWhole ? Choice($"served: {response.Status}") : Fail(response.Describe());
    }

    private static async Task<string> AbortAsync(CheckContext context, byte[] begun)
    {
        using var peer = await context.ConnectAsync(begun, Record(RecordType.AbortRequest, 1));
        var response = await peer.ReadResponseAsync();
        RequireForm(response);
        if (response.End is not { } end)
        {
            peer.Dispose();
            throw Fail(await context.SurviveAsync(response.Describe()));
        }

        await peer.SendAsync(context.CreateGet());
        return context.FindFault(await peer.ReadResponseAsync()) is { } fault
            ? throw Fail($"END_REQUEST arrives, but the next request on the connection is not served: {fault}")
            : $"{end.ProtocolStatus}, appStatus {end.AppStatus}";
    }

    private static void RequireForm(CheckResponse response)
    {
        if (response.Flaws.Length > 0)
            throw Fail(string.Join(", ", response.Flaws));
    }

    private static async Task<string> BodyLengthAsync(CheckContext context, int sent, int declared)
    {
        using var peer = await context.ConnectAsync(context.CreatePost(sent, declared));
        var response = await peer.ReadResponseAsync();
        if (response.IsClosed)
            throw await context.ChooseAsync(response.Describe());
        RequireForm(response);
        if (response.End is null)
            throw Fail(response.Describe());

        await peer.SendAsync(context.CreateGet());
        if (context.FindFault(await peer.ReadResponseAsync()) is not { } fault)
            return response.Describe();
        throw fault == "closed without a response"
            ? await context.ChooseAsync($"{response.Describe()}, and the connection is closed after it")
            : Fail($"{response.Describe()}, and then: {fault}");
    }
}
