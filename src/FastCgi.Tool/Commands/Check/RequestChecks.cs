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
            var answer = await context.AskAsync(
                Begin(role: 77), Stream(RecordType.Params, 1, context.CreateParams()), Record(RecordType.Stdin, 1));
            return answer.IsRefused(FastCgiProtocolStatus.UnknownRole) ? "" : throw Fail(answer.Describe());
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
            context.Require(await peer.ReadAnswerAsync());
            throw Choice("it waits");
        }),
        new("stdin-early", async context =>
        {
            var answer = await context.AskAsync(Begin(), Record(RecordType.Params, 1, context.CreateParams("POST", 4)),
                Record(RecordType.Stdin, 1, "body"u8), Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            throw await context.ChooseUnlessSilentAsync(answer);
        }),
        new("large-body", async context =>
        {
            using var peer = await context.ConnectAsync();
            // Sends while it reads: the server may respond early, and need not read everything.
            var sending = peer.SendAsync(context.CreatePost(LargeBody));
            var answer = await peer.ReadAnswerAsync();
            await sending;
            RequireForm(answer);
            return answer.IsWhole ? $"{answer.Status}" : throw Fail(answer.Describe());
        }),
        new("body-too-short", context => BodyLengthAsync(context, 10, 20)),
        new("body-too-long", context => BodyLengthAsync(context, 20, 10)),
        new("head", async context =>
        {
            var answer = await context.AskAsync(CreateRequest(context.CreateParams("HEAD")));
            if (!answer.IsWhole)
                throw Fail(answer.Describe());
            return answer.Body.Length == 0
                ? $"{answer.Status}"
                : throw Fail($"{answer.Status}, with a body of {answer.Body.Length} bytes");
        }),
    ];

    private static async Task<string> RoleAsync(CheckContext context, int role, (string, string)[] extra, byte[] input)
    {
        var answer = await context.AskAsync(
            Begin(role: role), Stream(RecordType.Params, 1, context.CreateParams(extra: extra)), input);
        if (answer.IsRefused(FastCgiProtocolStatus.UnknownRole))
            throw Choice("refused with UNKNOWN_ROLE");
        throw answer.IsWhole ? Choice($"served: {answer.Status}") : Fail(answer.Describe());
    }

    private static async Task<string> AbortAsync(CheckContext context, byte[] begun)
    {
        using var peer = await context.ConnectAsync(begun, Record(RecordType.AbortRequest, 1));
        var answer = await peer.ReadAnswerAsync();
        RequireForm(answer);
        if (answer.End is not { } end)
        {
            peer.Dispose();
            throw Fail(await context.SurviveAsync(answer.Describe()));
        }

        await peer.SendAsync(context.CreateGet());
        return context.FindFault(await peer.ReadAnswerAsync()) is { } fault
            ? throw Fail($"END_REQUEST arrives, but the next request on the connection is not served: {fault}")
            : $"{end.ProtocolStatus}, appStatus {end.AppStatus}";
    }

    private static void RequireForm(CheckAnswer answer)
    {
        if (answer.Flaws.Length > 0)
            throw Fail(string.Join(", ", answer.Flaws));
    }

    private static async Task<string> BodyLengthAsync(CheckContext context, int sent, int declared)
    {
        using var peer = await context.ConnectAsync(context.CreatePost(sent, declared));
        var answer = await peer.ReadAnswerAsync();
        if (answer.IsClosed)
            throw await context.ChooseAsync(answer.Describe());
        RequireForm(answer);
        if (answer.End is null)
            throw Fail(answer.Describe());

        await peer.SendAsync(context.CreateGet());
        if (context.FindFault(await peer.ReadAnswerAsync()) is not { } fault)
            return answer.Describe();
        throw fault == "closed without a response"
            ? await context.ChooseAsync($"{answer.Describe()}, and the connection is closed after it")
            : Fail($"{answer.Describe()}, and then: {fault}");
    }
}
