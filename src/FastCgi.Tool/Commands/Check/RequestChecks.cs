using FastCgi.AspNetCore.Protocol;
using FastCgi.Client;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Requests: roles, aborts, bodies (sections 5 and 6).</summary>
internal static class RequestChecks
{
    private const int LargeBody = 1_000_000;

    public static IEnumerable<CheckCase> All =>
    [
        new("unknown-role", "A role that does not exist is refused with UNKNOWN_ROLE", "5.5", UnknownRoleAsync),
        new("authorizer", "The role Authorizer may be served or refused with UNKNOWN_ROLE", "6.3", context => RoleAsync(context, 2)),
        new("filter", "The role Filter may be served or refused with UNKNOWN_ROLE", "6.4", context => RoleAsync(context, 3)),
        new("abort-begun", "ABORT_REQUEST after BEGIN_REQUEST is answered with END_REQUEST", "5.4", context => AbortAsync(context, Begin())),
        new("abort-params", "ABORT_REQUEST within PARAMS is answered with END_REQUEST", "5.4",
            context => AbortAsync(context, [.. Begin(), .. Record(RecordType.Params, 1, context.CreateParams())])),
        new("abort-body", "ABORT_REQUEST within STDIN is answered with END_REQUEST", "5.4", context => AbortAsync(
            context, [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams("POST", 100)), .. Record(RecordType.Stdin, 1, "half"u8)])),
        new("before-stdin", "The answer need not wait for the end of STDIN", "6.2", BeforeStdinAsync),
        new("stdin-early", "STDIN before the end of PARAMS is an error; nothing hangs", "6.2", StdinEarlyAsync),
        new("large-body", "A body of 1 MB in the largest records is taken, or refused with an answer", "3.3", LargeBodyAsync),
        new("body-too-short", "A body shorter than its CONTENT_LENGTH has an answer, and the connection stays usable", "6.2",
            context => BodyLengthAsync(context, 10, 20)),
        new("body-too-long", "A body longer than its CONTENT_LENGTH does not become the next request", "6.2", context => BodyLengthAsync(context, 20, 10)),
        new("head", "The answer to HEAD has no body", "RFC 3875 4.3.3", HeadAsync),
    ];

    private static async Task<CheckResult> UnknownRoleAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Begin(role: 77), Stream(RecordType.Params, 1, context.CreateParams()), Record(RecordType.Stdin, 1));
        var answer = await peer.ReadAnswerAsync();
        return answer.End is { ProtocolStatus: (int)FastCgiProtocolStatus.UnknownRole } ? CheckResult.Pass() : CheckResult.Fail(answer.Describe());
    }

    private static async Task<CheckResult> RoleAsync(CheckContext context, int role)
    {
        byte[] input = role == 3 ? [.. Record(RecordType.Stdin, 1), .. Record(RecordType.Data, 1)] : [];
        var answer = await context.AskAsync([.. Begin(role: role),
            .. Stream(RecordType.Params, 1, context.CreateParams(extra: role == 3 ? [("FCGI_DATA_LENGTH", "0"), ("FCGI_DATA_LAST_MOD", "0")] : [])), .. input]);
        if (answer.End is { ProtocolStatus: (int)FastCgiProtocolStatus.UnknownRole })
            return CheckResult.Choice("refused with UNKNOWN_ROLE");
        return answer.IsWhole ? CheckResult.Choice($"served: {answer.Status}") : CheckResult.Fail(answer.Describe());
    }

    private static async Task<CheckResult> AbortAsync(CheckContext context, byte[] begun)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(begun, Record(RecordType.AbortRequest, 1));
        var answer = await peer.ReadAnswerAsync();
        if (answer.Flaws.Length > 0)
            return CheckResult.Fail(string.Join(", ", answer.Flaws));
        if (answer.End is not { } end)
            return await context.IsAliveAsync() ? CheckResult.Fail(answer.Describe())
                : CheckResult.Fail($"{answer.Describe()}; and then a plain GET is not answered");

        var next = await context.ExpectNextAsync(peer);
        return next.Verdict == CheckVerdict.Pass
            ? CheckResult.Pass($"{(FastCgiProtocolStatus)end.ProtocolStatus}, appStatus {end.AppStatus}")
            : CheckResult.Fail($"END_REQUEST comes, but the next request of the connection is not served: {next.Detail}");
    }

    private static async Task<CheckResult> BeforeStdinAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Begin(), Stream(RecordType.Params, 1, context.CreateParams()));
        try
        {
            if (await peer.ReadRecordAsync(context.Quiet) is null)
                return CheckResult.Fail("the connection is closed");

            return CheckResult.Choice("it does not wait");
        }
        catch (TimeoutException)
        {
            await peer.SendAsync(Record(RecordType.Stdin, 1));
            var result = context.Judge(await peer.ReadAnswerAsync());
            return result.Verdict == CheckVerdict.Pass ? CheckResult.Choice("it waits") : result;
        }
    }

    private static async Task<CheckResult> StdinEarlyAsync(CheckContext context)
    {
        var parameters = context.CreateParams("POST", 4);
        var answer = await context.AskAsync([.. Begin(), .. Record(RecordType.Params, 1, parameters), .. Record(RecordType.Stdin, 1, "body"u8),
            .. Record(RecordType.Params, 1), .. Record(RecordType.Stdin, 1)]);
        return answer.IsSilent ? CheckResult.Fail(answer.Describe()) : await context.ChooseAsync(answer.Describe());
    }

    private static async Task<CheckResult> LargeBodyAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        // Sent while the answer is read: the server may answer early, and need not read all.
        var sending = peer.SendAsync(context.CreatePost(LargeBody));
        var answer = await peer.ReadAnswerAsync();
        await sending;
        if (answer.Flaws.Length > 0)
            return CheckResult.Fail(string.Join(", ", answer.Flaws));
        return answer.IsWhole ? CheckResult.Pass($"{answer.Status}") : CheckResult.Fail(answer.Describe());
    }

    private static async Task<CheckResult> BodyLengthAsync(CheckContext context, int sent, int told)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(context.CreatePost(sent, told: told));
        var answer = await peer.ReadAnswerAsync();
        if (answer.IsClosed)
            return await context.ChooseAsync(answer.Describe());
        if (answer.End is null || answer.Flaws.Length > 0)
            return CheckResult.Fail(answer.Flaws.Length > 0 ? string.Join(", ", answer.Flaws) : answer.Describe());

        var next = await context.ExpectNextAsync(peer);
        return next.Verdict == CheckVerdict.Pass ? CheckResult.Pass(answer.Describe())
            : next.Detail == "closed without an answer" ? await context.ChooseAsync($"{answer.Describe()}, and the connection is closed after it")
            : CheckResult.Fail($"{answer.Describe()}, and then: {next.Detail}");
    }

    private static async Task<CheckResult> HeadAsync(CheckContext context)
    {
        var answer = await context.AskAsync([.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams("HEAD")), .. Record(RecordType.Stdin, 1)]);
        if (!answer.IsWhole)
            return CheckResult.Fail(answer.Describe());
        return answer.Body.Length == 0 ? CheckResult.Pass($"{answer.Status}") : CheckResult.Fail($"{answer.Status}, with a body of {answer.Body.Length} bytes");
    }
}
