using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Records: their form, ids and types (sections 3.3 and 5), and name-value pairs (section 3.4).</summary>
internal static class RecordChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("answer", AnswerAsync),
        new("stdout-end", context => EndAsync(context, static answer => answer.IsOutputEnded)),
        new("stderr-end", context
            => EndAsync(context, static answer => answer.HasError
                ? answer.IsErrorEnded
                : throw CheckException.Skipped("there was no STDERR"))),
        new("cgi-headers", HeadersAsync),
        new("padding", context => context.ExpectSameAsync(
            [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams(), padding: 255),
                .. Record(RecordType.Stdin, 1, padding: 255)])),
        new("reserved", context => context.ExpectSameAsync(
            [.. Begin(reserved: 0xFF), .. Record(RecordType.Params, 1, context.CreateParams(), reserved: 0xFF),
                .. Record(RecordType.Params, 1, reserved: 1), .. Record(RecordType.Stdin, 1, reserved: 1)])),
        new("byte-by-byte", ByteByByteAsync),
        new("ids", IdsAsync),
        new("id-reuse", IdReuseAsync),
        new("inactive-ids", InactiveIdsAsync),
        new("id-zero", context => ChoiceOfAsync(context, Record(RecordType.Stdin, 0, "x"u8))),
        new("unknown-type", context => ChoiceOfAsync(context, Record((RecordType)200, 1, "x"u8))),
        new("server-types", context => ChoiceOfAsync(context, Record(RecordType.Stdout, 1, "x"u8))),
        new("version", VersionAsync),
    ];

    public static IEnumerable<CheckCase> Params =>
    [
        new("lengths", context => context.ExpectSameAsync(context.CreateGet(
            extra: [("HTTP_X_A", new string('v', 127)), ("HTTP_X_B", new string('v', 128)),
                ($"HTTP_{new string('X', 150)}", "v"),
                ($"HTTP_{new string('Y', 150)}", new string('v', 300))]))),
        new("long-lengths", LongLengthsAsync),
        new("byte-per-record", context => context.ExpectSameAsync(
            [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams(), size: 1),
                .. Record(RecordType.Stdin, 1)])),
        new("cut-pairs", context => context.ExpectSameAsync(
            [.. Begin(), .. Stream(RecordType.Params, 1,
                context.CreateParams(extra: [("HTTP_X_LONG", new string('v', 300))]), size: 7),
                .. Record(RecordType.Stdin, 1)])),
        new("empty-value", context => context.ExpectSameAsync(context.CreateGet(extra: [("HTTP_X_EMPTY", "")]))),
        new("empty-name", context => ServeOrChooseAsync(context, context.CreateGet(extra: [("", "value")]))),
        new("repeated-name", context => context.ExpectSameAsync(
            context.CreateGet(extra: [("HTTP_X_TWICE", "1"), ("HTTP_X_TWICE", "2")]))),
        new("large", context => ServeOrChooseAsync(
            context, context.CreateGet(extra: [("HTTP_X_LARGE", new string('v', 60_000))]))),
        new("no-method", context => ServeOrChooseAsync(
            context, CheckContext.CreateRequest(
                Pairs(context.GetParams().Where(static pair => pair.Name != "REQUEST_METHOD"))))),
    ];

    private static async Task<string> AnswerAsync(CheckContext context)
    {
        var answer = await context.AskAsync(context.CreateGet());
        context.Status = answer.Status;
        context.Require(answer);
        return answer.Describe();
    }

    private static async Task<string> EndAsync(CheckContext context, Func<CheckAnswer, bool> isEnded)
        => isEnded(await context.AskAsync(context.CreateGet()))
            ? ""
            : throw CheckException.Fail("END_REQUEST arrives without it; web servers tolerate that");

    private static async Task<string> HeadersAsync(CheckContext context)
    {
        var answer = await context.AskAsync(context.CreateGet());
        if (answer.Head is not { } head)
            throw CheckException.Fail("the header block cannot be read");
        if (head.Headers.Any(
            static header => header.Key.Equals("Transfer-Encoding", StringComparison.OrdinalIgnoreCase)))
            throw CheckException.Fail("there is a Transfer-Encoding header");
        return head.ContentLength is { } length && length != answer.Body.Length
            ? throw CheckException.Fail($"Content-Length {length}, body of {answer.Body.Length} bytes") : "";
    }

    private static async Task<string> ByteByByteAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        foreach (var value in context.CreateGet())
            await peer.SendAsync([value]);
        return context.Require(await peer.ReadAnswerAsync());
    }

    private static async Task<string> IdsAsync(CheckContext context)
    {
        foreach (var id in (int[])[2, 255, 256, 65_535])
            await WithPrefixAsync($"id {id}", context.ExpectSameAsync(context.CreateGet(id), id));
        return "";
    }

    private static async Task<string> IdReuseAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        for (var i = 1; i <= 5; i++)
            await WithPrefixAsync($"request {i} of the connection", context.ExpectNextAsync(peer));
        return "";
    }

    private static async Task<string> InactiveIdsAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync(Record(RecordType.Stdin, 7, "x"u8),
            Record(RecordType.Data, 7, "x"u8), Record(RecordType.AbortRequest, 7), Record(RecordType.Params, 7));
        await WithPrefixAsync("before any request", context.ExpectNextAsync(peer));
        await peer.SendAsync(Record(RecordType.Stdin, 1, "late"u8), Record(RecordType.AbortRequest, 1));
        return await WithPrefixAsync("after its END_REQUEST", context.ExpectNextAsync(peer));
    }

    private static async Task<string> WithPrefixAsync(string what, Task<string> expectation)
    {
        try
        {
            return await expectation;
        }
        catch (CheckException exception)
        {
            throw CheckException.Fail($"{what}: {exception.Message}");
        }
    }

    private static async Task<string> VersionAsync(CheckContext context)
    {
        var answer = await context.AskAsync(
            [.. Record(RecordType.BeginRequest, 1, [0, 1, 0, 0, 0, 0, 0, 0], version: 2),
                .. Record(RecordType.Params, 1, context.CreateParams(), version: 2),
                .. Record(RecordType.Params, 1, version: 2), .. Record(RecordType.Stdin, 1, version: 2)]);
        throw answer.IsWhole && answer.Status == context.Status
            ? CheckException.Fail($"version 2 gets a {answer.Status}")
            : await context.ChooseAsync(answer.Describe());
    }

    /// <summary>Sends a stray record, then a request.</summary>
    private static async Task<string> ChoiceOfAsync(CheckContext context, byte[] stray)
    {
        using var peer = await context.ConnectAsync(stray, context.CreateGet());
        var what = await peer.ReadRecordAsync() switch
        {
            (null, null) => "closes the connection",
            (null, CheckPeer.Silent) => "sends nothing, and does not serve the next request",
            (null, var problem) => throw CheckException.Fail(problem),
            ({ Type: RecordType.UnknownType }, _) => "answers UNKNOWN_TYPE",
            ({ Type: RecordType.Stdout or RecordType.Stderr, Id: 1 }, _) => "ignores it and serves the next request",
            var (first, _) => $"answers {RecordNames.Get(first.Type)}",
        };
        // A server that serves one connection at a time serves others only after this.
        peer.Dispose();
        throw await context.ChooseAsync(what);
    }

    private static async Task<string> LongLengthsAsync(CheckContext context)
    {
        var pairs = context.GetParams().SelectMany(static pair => pair.Value.Length < 128 && pair.Name.All(char.IsAscii)
            && pair.Value.All(char.IsAscii) ? LongPair(pair.Name, pair.Value) : Pair(pair.Name, pair.Value)).ToArray();
        var answer = await context.AskAsync(CheckContext.CreateRequest(pairs));
        return answer.IsWhole && answer.Status == context.Status
            ? ""
            : throw await context.ChooseAsync($"refused: {answer.Describe()}");
    }

    private static async Task<string> ServeOrChooseAsync(CheckContext context, byte[] request)
    {
        var answer = await context.AskAsync(request);
        if (answer.IsWhole && answer.Status == context.Status)
            return "";
        throw answer.IsSilent ? CheckException.Fail(answer.Describe()) : await context.ChooseAsync(answer.Describe());
    }
}
