using FastCgi.AspNetCore.Protocol;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Records: their form, ids and types (sections 3.3 and 5).</summary>
internal static class RecordChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("answer", "A request is answered with a header block and END_REQUEST, REQUEST_COMPLETE", "5.5", AnswerAsync),
        new("stdout-end", "STDOUT is ended by an empty record before END_REQUEST", "3.3", StdoutEndAsync),
        new("stderr-end", "STDERR, if there is any, is ended by an empty record too", "3.3", StderrEndAsync),
        new("cgi-headers", "The header block has a Status of three digits or none, and no Transfer-Encoding; Content-Length is the length of the body",
            "RFC 3875 6", HeadersAsync),
        new("padding", "Padding is skipped, also 255 bytes of it after empty records", "3.3", context => context.ExpectSameAsync(
            [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams(), padding: 255), .. Record(RecordType.Stdin, 1, padding: 255)])),
        new("reserved", "Reserved bytes are ignored", "3.3, 5.1", context => context.ExpectSameAsync(
            [.. Begin(reserved: 0xFF), .. Record(RecordType.Params, 1, context.CreateParams(), reserved: 0xFF),
                .. Record(RecordType.Params, 1, reserved: 1), .. Record(RecordType.Stdin, 1, reserved: 1)])),
        new("byte-by-byte", "A record may come in any pieces, a byte at a time too", "3.3", ByteByByteAsync),
        new("ids", "Any id from 1 to 65,535 is served", "3.3", IdsAsync),
        new("id-reuse", "An id is free again as soon as its END_REQUEST is sent", "3.3", IdReuseAsync),
        new("inactive-ids", "Records for ids that are not active are ignored", "3.3", InactiveIdsAsync),
        new("id-zero", "An application record with id 0 is an error; what becomes of it is open", "3.3",
            context => ChoiceOfAsync(context, Record(RecordType.Stdin, 0, "x"u8))),
        new("unknown-type", "A record of an unknown type with an id other than 0 is not defined", "4.2",
            context => ChoiceOfAsync(context, Record((RecordType)200, 1, "x"u8))),
        new("server-types", "Records that only an application sends are not defined", "3.3",
            context => ChoiceOfAsync(context, Record(RecordType.Stdout, 1, "x"u8))),
        new("version", "A version other than 1 is not served as if it were 1", "3.3", VersionAsync),
    ];

    private static async Task<CheckResult> AnswerAsync(CheckContext context)
    {
        var answer = await context.AskAsync(context.CreateGet());
        context.Status = answer.Status;
        return context.Judge(answer) with { Detail = answer.Flaws.Length > 0 ? string.Join(", ", answer.Flaws) : answer.Describe() };
    }

    private static async Task<CheckResult> StdoutEndAsync(CheckContext context)
        => (await context.AskAsync(context.CreateGet())).IsOutputEnded ? CheckResult.Pass()
            : CheckResult.Fail("END_REQUEST comes without it; web servers bear that");

    private static async Task<CheckResult> StderrEndAsync(CheckContext context)
    {
        var answer = await context.AskAsync(context.CreateGet());
        if (!answer.HasError)
            return CheckResult.Skipped("there was no STDERR");
        return answer.IsErrorEnded ? CheckResult.Pass() : CheckResult.Fail("END_REQUEST comes without it; web servers bear that");
    }

    private static async Task<CheckResult> HeadersAsync(CheckContext context)
    {
        var answer = await context.AskAsync(context.CreateGet());
        if (answer.Head is not { } head)
            return CheckResult.Fail("the header block cannot be read");
        if (head.Headers.Any(static header => header.Key.Equals("Transfer-Encoding", StringComparison.OrdinalIgnoreCase)))
            return CheckResult.Fail("there is a Transfer-Encoding");
        return head.ContentLength is { } length && length != answer.Body.Length
            ? CheckResult.Fail($"Content-Length {length}, body of {answer.Body.Length} bytes") : CheckResult.Pass();
    }

    private static async Task<CheckResult> ByteByByteAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendSlowlyAsync(context.CreateGet());
        return context.Judge(await peer.ReadAnswerAsync());
    }

    private static async Task<CheckResult> IdsAsync(CheckContext context)
    {
        foreach (var id in (int[])[2, 255, 256, 65_535])
        {
            var result = await context.ExpectSameAsync(context.CreateGet(id), id);
            if (result.Verdict != CheckVerdict.Pass)
                return result with { Detail = $"id {id}: {result.Detail}" };
        }

        return CheckResult.Pass();
    }

    private static async Task<CheckResult> IdReuseAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        for (var i = 0; i < 5; i++)
        {
            var result = await context.ExpectNextAsync(peer);
            if (result.Verdict != CheckVerdict.Pass)
                return result with { Detail = $"request {i + 1} of the connection: {result.Detail}" };
        }

        return CheckResult.Pass();
    }

    private static async Task<CheckResult> InactiveIdsAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Record(RecordType.Stdin, 7, "x"u8), Record(RecordType.Data, 7, "x"u8), Record(RecordType.AbortRequest, 7),
            Record(RecordType.Params, 7));
        var first = await context.ExpectNextAsync(peer);
        if (first.Verdict != CheckVerdict.Pass)
            return first with { Detail = $"before any request: {first.Detail}" };

        await peer.SendAsync(Record(RecordType.Stdin, 1, "late"u8), Record(RecordType.AbortRequest, 1));
        var second = await context.ExpectNextAsync(peer);
        return second.Verdict == CheckVerdict.Pass ? second : second with { Detail = $"after its END_REQUEST: {second.Detail}" };
    }

    private static async Task<CheckResult> VersionAsync(CheckContext context)
    {
        var answer = await context.AskAsync(
            [.. Record(RecordType.BeginRequest, 1, [0, 1, 0, 0, 0, 0, 0, 0], version: 2),
                .. Record(RecordType.Params, 1, context.CreateParams(), version: 2), .. Record(RecordType.Params, 1, version: 2),
                .. Record(RecordType.Stdin, 1, version: 2)]);
        return answer.IsWhole && answer.Status == context.Status ? CheckResult.Fail($"version 2 is answered with {answer.Status}")
            : await context.ChooseAsync(answer.Describe());
    }

    /// <summary>A stray record, and then a request.</summary>
    private static async Task<CheckResult> ChoiceOfAsync(CheckContext context, byte[] stray)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(stray, context.CreateGet());
        try
        {
            var first = await peer.ReadRecordAsync();
            return await context.ChooseAsync(first switch
            {
                null => "closes the connection",
                { Type: RecordType.UnknownType } => "answers UNKNOWN_TYPE",
                { Type: RecordType.Stdout or RecordType.Stderr, Id: 1 } => "ignores it and serves the request after it",
                _ => $"answers {RecordNames.Get(first.Type)}",
            });
        }
        catch (TimeoutException)
        {
            return await context.ChooseAsync("says nothing, and does not serve the request after it");
        }
        catch (InvalidDataException exception)
        {
            return CheckResult.Fail(exception.Message);
        }
    }
}
