namespace FastCgi.Tool.Commands.Check;

/// <content>Records: their form, ids and types (sections 3.3 and 5), and name-value pairs (section 3.4).</content>
internal sealed partial class Checks
{
    private IEnumerable<(string Id, Run Run)> Records =>
    [
        ("answer", async () =>
        {
            var response = await AskAsync(CreateGet());
            Status = response.Status;
            Require(response);
            return response.Describe();
        }),
        ("stdout-end", () => EndAsync(static response => response.IsOutputEnded)),
        ("stderr-end", () => EndAsync(static response
            => response.HasError ? response.IsErrorEnded : throw Skipped("there was no STDERR"))),
        ("cgi-headers", async () =>
        {
            var response = await AskAsync(CreateGet());
            if (response.Head is not { } head)
                throw Fail("the header block cannot be read");
            if (head.Headers.Any(
                static header => header.Key.Equals("Transfer-Encoding", StringComparison.OrdinalIgnoreCase)))
                throw Fail("there is a Transfer-Encoding header");
            return head.ContentLength is { } length && length != response.Body.Length
                ? throw Fail($"Content-Length {length}, body of {response.Body.Length} bytes") : "";
        }),
        ("padding", () => SameAsync(CreateGet(padding: 255))),
        ("reserved", () => SameAsync(
            Begin(reserved: 0xFF), Record(RecordType.Params, 1, CreateParams(), reserved: 0xFF),
            Record(RecordType.Params, 1, reserved: 1), Record(RecordType.Stdin, 1, reserved: 1))),
        ("byte-by-byte", () => SameAsync([.. CreateGet().Chunk(1)])),
        ("ids", async () =>
        {
            foreach (var id in (int[])[2, 255, 256, 65_535])
            {
                using var peer = await ConnectAsync();
                await WithPrefixAsync($"id {id}", NextAsync(peer, id));
            }

            return "";
        }),
        ("inactive-ids", async () =>
        {
            var peer = await ConnectAsync(Record(RecordType.Stdin, 7, "x"u8),
                Record(RecordType.Data, 7, "x"u8), Record(RecordType.AbortRequest, 7), Record(RecordType.Params, 7));
            await WithPrefixAsync("before any request", NextAsync(peer));
            await peer.SendAsync(Record(RecordType.Stdin, 1, "late"u8), Record(RecordType.AbortRequest, 1));
            return await WithPrefixAsync("after its END_REQUEST", NextAsync(peer));
        }),
        ("id-zero", () => StrayAsync(Record(RecordType.Stdin, 0, "x"u8))),
        ("unknown-type", () => StrayAsync(Record((RecordType)200, 1, "x"u8))),
        ("server-types", () => StrayAsync(Record(RecordType.Stdout, 1, "x"u8))),
        ("version", async () =>
        {
            var response = await AskAsync(
                Record(RecordType.BeginRequest, 1, [0, 1, 0, 0, 0, 0, 0, 0], version: 2),
                Record(RecordType.Params, 1, CreateParams(), version: 2),
                Record(RecordType.Params, 1, version: 2), Record(RecordType.Stdin, 1, version: 2));
            return IsServed(response)
                ? throw Fail($"version 2 gets a {response.Status}")
                : await SurviveAsync(response.Describe());
        }),
    ];

    private IEnumerable<(string Id, Run Run)> Parameters =>
    [
        ("lengths", () => SameAsync(CreateGet(extra:
            [("HTTP_X_A", new string('v', 127)), ("HTTP_X_B", new string('v', 128)),
            ($"HTTP_{new string('X', 150)}", "v"), ($"HTTP_{new string('Y', 150)}", new string('v', 300))]))),
        ("long-lengths", () => AnswerAsync(CreateRequest([.. GetParameters().SelectMany(static pair
            => pair.Value.Length < 128 && Ascii.IsValid(pair.Name) && Ascii.IsValid(pair.Value)
                ? LongPair(pair.Name, pair.Value)
                : Pairs([pair]))]))),
        ("byte-per-record", () => SameAsync(CreateGet(size: 1, extra: [("HTTP_X_LONG", new string('v', 300))]))),
        ("empty-value", () => SameAsync(CreateGet(extra: [("HTTP_X_EMPTY", "")]))),
        ("empty-name", () => AnswerAsync(CreateGet(extra: [("", "value")]))),
        ("repeated-name", () => SameAsync(CreateGet(extra: [("HTTP_X_TWICE", "1"), ("HTTP_X_TWICE", "2")]))),
        ("large", () => AnswerAsync(CreateGet(extra: [("HTTP_X_LARGE", new string('v', 60_000))]))),
        ("no-method", () => AnswerAsync(CreateRequest(
            Pairs(GetParameters().Where(static pair => pair.Name != "REQUEST_METHOD"))))),
    ];

    private async Task<string> EndAsync(Func<CheckResponse, bool> isEnded)
        => isEnded(await AskAsync(CreateGet()))
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
    private async Task<string> StrayAsync(byte[] stray)
    {
        var peer = await ConnectAsync(stray, CreateGet());
        var what = await peer.ReadRecordAsync() switch
        {
            (null, CheckPeer.Closed) => "closes the connection",
            (null, CheckPeer.Silent) => "sends nothing, and does not serve the next request",
            (null, var problem) => throw Fail(problem!),
            ({ Type: RecordType.Stdout or RecordType.Stderr, Id: 1 }, _) => "ignores it and serves the next request",
            var (first, _) => $"responds with {RecordNames.Get(first.Type)}",
        };
        // A server that serves one connection at a time serves others only after this.
        peer.Dispose();
        return await SurviveAsync(what);
    }
}
