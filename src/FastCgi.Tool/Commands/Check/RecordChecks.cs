using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Records: their form, ids and types (sections 3.3 and 5), and name-value pairs (section 3.4).</summary>
internal static class RecordChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("answer", async context =>
        {
            var response = await context.AskAsync(context.CreateGet());
            context.Status = response.Status;
            context.Require(response);
            return response.Describe();
        }),
        new("stdout-end", context => EndAsync(context, static response => response.IsOutputEnded)),
        new("stderr-end", context => EndAsync(context, static response
            => response.HasError ? response.IsErrorEnded : throw Skipped("there was no STDERR"))),
        new("cgi-headers", async context =>
        {
            var response = await context.AskAsync(context.CreateGet());
            if (response.Head is not { } head)
                throw Fail("the header block cannot be read");
            if (head.Headers.Any(
                static header => header.Key.Equals("Transfer-Encoding", StringComparison.OrdinalIgnoreCase)))
                throw Fail("there is a Transfer-Encoding header");
            return head.ContentLength is { } length && length != response.Body.Length
                ? throw Fail($"Content-Length {length}, body of {response.Body.Length} bytes") : "";
        }),
        new("padding", context => context.ExpectSameAsync(context.CreateGet(padding: 255))),
        new("reserved", context => context.ExpectSameAsync(
            Begin(reserved: 0xFF), Record(RecordType.Params, 1, context.CreateParams(), reserved: 0xFF),
            Record(RecordType.Params, 1, reserved: 1), Record(RecordType.Stdin, 1, reserved: 1))),
        new("byte-by-byte", async context =>
        {
            using var peer = await context.ConnectAsync();
            foreach (var value in context.CreateGet())
                await peer.SendAsync([value]);
            return context.Require(await peer.ReadResponseAsync());
        }),
        new("ids", async context =>
        {
            foreach (var id in (int[])[2, 255, 256, 65_535])
            {
                using var peer = await context.ConnectAsync();
                await WithPrefixAsync($"id {id}", context.ExpectNextAsync(peer, id));
            }

            return "";
        }),
        new("id-reuse", async context =>
        {
            using var peer = await context.ConnectAsync();
            for (var i = 1; i <= 5; i++)
                await WithPrefixAsync($"request {i} of the connection", context.ExpectNextAsync(peer));
            return "";
        }),
        new("inactive-ids", async context =>
        {
            using var peer = await context.ConnectAsync(Record(RecordType.Stdin, 7, "x"u8),
                Record(RecordType.Data, 7, "x"u8), Record(RecordType.AbortRequest, 7), Record(RecordType.Params, 7));
            await WithPrefixAsync("before any request", context.ExpectNextAsync(peer));
            await peer.SendAsync(Record(RecordType.Stdin, 1, "late"u8), Record(RecordType.AbortRequest, 1));
            return await WithPrefixAsync("after its END_REQUEST", context.ExpectNextAsync(peer));
        }),
        new("id-zero", context => ChoiceOfAsync(context, Record(RecordType.Stdin, 0, "x"u8))),
        new("unknown-type", context => ChoiceOfAsync(context, Record((RecordType)200, 1, "x"u8))),
        new("server-types", context => ChoiceOfAsync(context, Record(RecordType.Stdout, 1, "x"u8))),
        new("version", async context =>
        {
            var response = await context.AskAsync(
                Record(RecordType.BeginRequest, 1, [0, 1, 0, 0, 0, 0, 0, 0], version: 2),
                Record(RecordType.Params, 1, context.CreateParams(), version: 2),
                Record(RecordType.Params, 1, version: 2), Record(RecordType.Stdin, 1, version: 2));
            throw context.IsServed(response)
                ? Fail($"version 2 gets a {response.Status}")
                : await context.ChooseAsync(response.Describe());
        }),
    ];

    public static IEnumerable<CheckCase> Parameters =>
    [
        Served("lengths", ("HTTP_X_A", new string('v', 127)), ("HTTP_X_B", new string('v', 128)),
            ($"HTTP_{new string('X', 150)}", "v"), ($"HTTP_{new string('Y', 150)}", new string('v', 300))),
        new("long-lengths", async context =>
        {
            var pairs = context.GetParameters().SelectMany(static pair
                => pair.Value.Length < 128 && Ascii.IsValid(pair.Name) && Ascii.IsValid(pair.Value)
                    ? LongPair(pair.Name, pair.Value)
                    : Pairs([pair])).ToArray();
            var response = await context.AskAsync(CheckContext.CreateRequest(pairs));
            return context.IsServed(response) ? "" : throw await context.ChooseAsync($"refused: {response.Describe()}");
        }),
        new("byte-per-record", context => context.ExpectSameAsync(context.CreateGet(size: 1))),
        new("cut-pairs", context => context.ExpectSameAsync(
            context.CreateGet(size: 7, extra: [("HTTP_X_LONG", new string('v', 300))]))),
        Served("empty-value", ("HTTP_X_EMPTY", "")),
        new("empty-name", context => ServeOrChooseAsync(context, context.CreateGet(extra: [("", "value")]))),
        Served("repeated-name", ("HTTP_X_TWICE", "1"), ("HTTP_X_TWICE", "2")),
        new("large", context => ServeOrChooseAsync(
            context, context.CreateGet(extra: [("HTTP_X_LARGE", new string('v', 60_000))]))),
        new("no-method", context => ServeOrChooseAsync(context, CheckContext.CreateRequest(
            Pairs(context.GetParameters().Where(static pair => pair.Name != "REQUEST_METHOD"))))),
    ];

    private static CheckCase Served(string id, params (string Name, string Value)[] extra)
        => new(id, context => context.ExpectSameAsync(context.CreateGet(extra: extra)));

    private static async Task<string> EndAsync(CheckContext context, Func<CheckResponse, bool> isEnded)
        => isEnded(await context.AskAsync(context.CreateGet()))
            ? ""
            : throw Fail("END_REQUEST arrives without it; web servers tolerate that");

    private static async Task<string> WithPrefixAsync(string what, Task<string> expectation)
    {
        try
        {
            return await expectation;
        }
        catch (CheckException exception)
        {
            throw Fail($"{what}: {exception.Message}");
        }
    }

    /// <summary>Sends a stray record, then a request.</summary>
    private static async Task<string> ChoiceOfAsync(CheckContext context, byte[] stray)
    {
        using var peer = await context.ConnectAsync(stray, context.CreateGet());
        var what = await peer.ReadRecordAsync() switch
        {
            (null, null) => "closes the connection",
            (null, CheckPeer.Silent) => "sends nothing, and does not serve the next request",
            (null, var problem) => throw Fail(problem),
            ({ Type: RecordType.UnknownType }, _) => "responds with UNKNOWN_TYPE",
            ({ Type: RecordType.Stdout or RecordType.Stderr, Id: 1 }, _) => "ignores it and serves the next request",
            var (first, _) => $"responds with {RecordNames.Get(first.Type)}",
        };
        // A server that serves one connection at a time serves others only after this.
        peer.Dispose();
        throw await context.ChooseAsync(what);
    }

    private static async Task<string> ServeOrChooseAsync(CheckContext context, byte[] request)
    {
        var response = await context.AskAsync(request);
        return context.IsServed(response) ? "" : throw await context.ChooseUnlessSilentAsync(response);
    }
}
