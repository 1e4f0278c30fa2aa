using static FastCgi.Tool.Commands.Check.CheckSteps;

namespace FastCgi.Tool.Commands.Check;

/// <summary>The statements of the specification.</summary>
internal static class Checks
{
    private const string Unknown = "FCGI_NO_SUCH_NAME";

    private static readonly int[] s_ids = [1, 2, 300];

    /// <summary>Records: their form, ids and types (sections 3.3 and 5).</summary>
    private static readonly Check[] s_records =
    [
        new("answer", "5.5", "The response to a request has a header block and END_REQUEST with REQUEST_COMPLETE",
            to => [Send(to.Get()), Response(response =>
            {
                to.Status = response.Status;
                return Refute(to.FindFault(response)) ?? response.Describe();
            })]),
        new("stdout-end", "3.3", "An empty record ends STDOUT before END_REQUEST",
            to => [Send(to.Get()), Response(static response => RequireEnd(response, RecordType.Stdout))]),
        new("stderr-end", "3.3", "An empty record also ends STDERR, if there is any",
            to => [Send(to.Get()), Response(static response => response.Streams.ContainsKey(RecordType.Stderr)
                ? RequireEnd(response, RecordType.Stderr)
                : throw Skipped("there was no STDERR"))]),
        new("cgi-headers", "RFC 3875 6", "The header block has a Status of three digits or none, and no "
            + "Transfer-Encoding; Content-Length is the length of the body",
            to => [Send(to.Get()), Response(static response => Refute(FindWrongHeader(response)))]),
        new("padding", "3.3", "Padding is skipped, even 255 bytes after empty records",
            to => Served(to, to.Get(padding: 255))),
        new("reserved", "3.3, 5.1", "Reserved bytes are ignored",
            to => Served(to, Begin(reserved: 0xFF), Record(RecordType.Params, 1, to.Params(), reserved: 0xFF),
                Record(RecordType.Params, 1, reserved: 1), Record(RecordType.Stdin, 1, reserved: 1))),
        new("byte-by-byte", "3.3", "A record may arrive in any pieces, even byte by byte",
            to => Served(to, [.. to.Get().Chunk(1)])),
        new("ids", "3.3", "Any id from 1 to 65,535 is served", to => ForEach<int>([2, 255, 256, 65_535],
            id => [Named($"id {id}", Next(to, id)), Close()])),
        new("inactive-ids", "3.3", "Records for inactive ids are ignored",
            to => [Send(Record(RecordType.Stdin, 7, "x"u8), Record(RecordType.Data, 7, "x"u8),
                    Record(RecordType.AbortRequest, 7), Record(RecordType.Params, 7)),
                Named("before any request", Next(to)),
                Send(Record(RecordType.Stdin, 1, "late"u8), Record(RecordType.AbortRequest, 1)),
                Named("after its END_REQUEST", Next(to))]),
        new("id-zero", "3.3", "An application record with id 0 is an error; the result is unspecified",
            to => Stray(to, Record(RecordType.Stdin, 0, "x"u8))),
        new("unknown-type", "4.2", "The effect of a record of an unknown type with an id other than 0 is unspecified",
            to => Stray(to, Record((RecordType)200, 1, "x"u8))),
        new("server-types", "3.3", "The effect of records that only an application may send is unspecified",
            to => Stray(to, Record(RecordType.Stdout, 1, "x"u8))),
        new("version", "3.3", "A version other than 1 is not treated as 1",
            to => [Send(Record(RecordType.BeginRequest, 1, [0, 1, 0, 0, 0, 0, 0, 0], version: 2),
                    Record(RecordType.Params, 1, to.Params(), version: 2),
                    Record(RecordType.Params, 1, version: 2), Record(RecordType.Stdin, 1, version: 2)),
                NotServed(to, static status => $"version 2 gets a {status}"), Survive()]),
    ];

    /// <summary>Name-value pairs (section 3.4).</summary>
    private static readonly Check[] s_parameters =
    [
        new("lengths", "3.4",
            "Lengths take one byte up to 127 and four bytes above: all four forms of a pair are read",
            to => Served(to, to.Get(extra: [("HTTP_X_A", Letters(127)), ("HTTP_X_B", Letters(128)),
                ($"HTTP_{new string('X', 150)}", "v"), ($"HTTP_{new string('Y', 150)}", Letters(300))]))),
        new("long-lengths", "3.4", "A length up to 127 may be read from four bytes",
            to => Any(CreateRequest([.. to.GetParameters().SelectMany(static pair
                => pair.Value.Length < 128 && Ascii.IsValid(pair.Name) && Ascii.IsValid(pair.Value)
                    ? LongPair(pair.Name, pair.Value)
                    : Pairs([pair]))]))),
        new("byte-per-record", "3.3, 3.4", "PARAMS may be split anywhere: here each byte is a record",
            to => Served(to, to.Get(size: 1, extra: [("HTTP_X_LONG", Letters(300))]))),
        new("empty-value", "3.4", "A value may be empty", to => Served(to, to.Get(extra: [("HTTP_X_EMPTY", "")]))),
        new("empty-name", "3.4", "The encoding allows an empty name", to => Any(to.Get(extra: [("", "value")]))),
        new("repeated-name", "3.4", "A name may occur twice",
            to => Served(to, to.Get(extra: [("HTTP_X_TWICE", "1"), ("HTTP_X_TWICE", "2")]))),
        new("large", "3.3", "PARAMS of 60 KB fit in a record; whether they are accepted is unspecified",
            to => Any(to.Get(extra: [("HTTP_X_LARGE", Letters(60_000))]))),
        new("no-method", "RFC 3875 4.1.12",
            "Without REQUEST_METHOD, the server returns an error or a response, but does not crash",
            to => Any(CreateRequest(Pairs(to.GetParameters().Where(static pair => pair.Name != "REQUEST_METHOD"))))),
    ];

    /// <summary>Management records (section 4).</summary>
    private static readonly Check[] s_management =
    [
        // GET_VALUES is a single record, not a stream with an end.
        new("get-values", "4.1", "The response to GET_VALUES is GET_VALUES_RESULT with id 0",
            to => [Values(Describe, isSkipped: false, MaxConnections, MaxRequests, Multiplexes),
                Named("the next request", Next(to))]),
        new("values", "4.1", "FCGI_MAX_CONNS and FCGI_MAX_REQS are decimal, FCGI_MPXS_CONNS is 0 or 1",
            _ => [Values(FindWrong, isSkipped: true, MaxConnections, MaxRequests, Multiplexes)]),
        new("asked-only", "4.1", "The result has only requested names",
            _ => [Values(static values => FindUnasked(values, MaxRequests), isSkipped: true, MaxRequests)]),
        new("unknown-names", "4.1", "Unknown names are omitted",
            _ => [Values(static values => values.ContainsKey(Unknown) ? throw Fail("the unknown name has a value") : "",
                isSkipped: true, Unknown)]),
        new("no-names", "4.1", "The result of GET_VALUES without names has no names",
            _ => [Values(static values => FindUnasked(values), isSkipped: false)]),
        new("during-request", "4.1", "GET_VALUES may arrive while a request is received",
            to => [Send(Begin(), Record(RecordType.Params, 1, to.Params())),
                Values(static _ => "", isSkipped: false, Multiplexes),
                .. Served(to, Record(RecordType.Params, 1), Record(RecordType.Stdin, 1))]),
        new("unknown-management", "4.2", "The response to an unknown management type is UNKNOWN_TYPE, which names it",
            _ => [Send(Record((RecordType)99, 0, "x"u8)), FirstRecord(static (record, problem) => record switch
            {
                null => throw Fail(problem!),
                { Type: RecordType.UnknownType, Id: 0, Content: [99, 0, 0, 0, 0, 0, 0, 0] } => "",
                _ => throw Fail($"the response is {RecordNames.Get(record.Type)}, id {record.Id}, "
                    + $"content {Convert.ToHexString(record.Content)}"),
            })]),
    ];

    /// <summary>Connections: kept, closed, several (sections 3.5 and 5.1).</summary>
    private static readonly Check[] s_connections =
    [
        new("close", "5.1", "Without FCGI_KEEP_CONN, the server closes the connection after the response",
            to => [.. Served(to, to.Get(keepsConnection: false)), Nothing(closes: true)]),
        new("keep", "5.1", "With FCGI_KEEP_CONN, the connection stays open, and nothing follows END_REQUEST",
            to => [.. Next(to), Nothing(closes: false), .. Next(to)]),
        new("other-flags", "5.1", "Other bits of the flags are ignored",
            to => [.. Served(to, Begin(otherFlags: 0xFE), Stream(RecordType.Params, 1, to.Params()),
                Record(RecordType.Stdin, 1)), .. Next(to)]),
        new("two-connections", "4.1",
            "A second connection is served while the first is idle, if FCGI_MAX_CONNS allows it",
            to => [.. Next(to), async run =>
            {
                if (to.FindFault(await run.AskAsync(to.Get())) is not { } fault)
                    return "";

                run.Close();
                to.IsSerial = true;
                return await run.GetValueAsync(MaxConnections) == "1"
                    ? "one connection at a time, and FCGI_MAX_CONNS is 1"
                    : throw Fail(fault);
            }]),
        new("closed-early", "3.5", "The web server may close the connection at any time; the server survives",
            to => ForEach<int>([4, 12, 40, to.Post(1000).Length - 500], length =>
            {
                var start = to.Post(1000)[..length];
                return [Send(start), Close(), Send(start), Do(static run => run.Current!.Reset()), Close(),
                    Named($"closed after {length} bytes", Survive())];
            })),
        new("half-close", "3.5",
            "Whether the web server gets a response after shutting down its sending side is unspecified",
            to => [Send(to.Get()), Do(static run => run.Current!.HalfClose()), Response(static response
                => response.IsWhole ? "it does" : $"it does not: {response.Describe()}"), Survive()]),
    ];

    /// <summary>Requests: roles, aborts, bodies (sections 5 and 6).</summary>
    private static readonly Check[] s_requests =
    [
        new("unknown-role", "5.5", "An unknown role is refused with UNKNOWN_ROLE",
            to => [Send(Begin(role: 77), Stream(RecordType.Params, 1, to.Params()), Record(RecordType.Stdin, 1)),
                Response(static response => Refute(response.IsRefused(FastCgiProtocolStatus.UnknownRole)
                    ? null
                    : response.Describe()))]),
        new("authorizer", "6.3", "The role Authorizer may be served or refused with UNKNOWN_ROLE",
            to => [Send(Begin(role: 2), Stream(RecordType.Params, 1, to.Params())), Response(DescribeRole)]),
        new("filter", "6.4", "The role Filter may be served or refused with UNKNOWN_ROLE",
            to => [Send(Begin(role: 3), Stream(RecordType.Params, 1, to.Params(extra:
                    [("FCGI_DATA_LENGTH", "0"), ("FCGI_DATA_LAST_MOD", "0")])),
                Record(RecordType.Stdin, 1), Record(RecordType.Data, 1)), Response(DescribeRole)]),
        new("abort-begun", "5.4", "ABORT_REQUEST after BEGIN_REQUEST results in END_REQUEST",
            to => Abort(to, Begin())),
        new("abort-params", "5.4", "ABORT_REQUEST within PARAMS results in END_REQUEST",
            to => Abort(to, Begin(), Record(RecordType.Params, 1, to.Params()))),
        new("abort-body", "5.4", "ABORT_REQUEST within STDIN results in END_REQUEST",
            to => Abort(to, Begin(), Stream(RecordType.Params, 1, to.Params("POST", 100)),
                Record(RecordType.Stdin, 1, "half"u8))),
        new("before-stdin", "6.2", "The response need not wait for the end of STDIN",
            to => [Send(Begin(), Stream(RecordType.Params, 1, to.Params())),
                FirstRecord(static (record, problem) => problem switch
                {
                    CheckPeer.Silent => "it waits",
                    null => throw Pass("it does not wait"),
                    _ => throw Fail(problem),
                }, isBrief: true),
                .. Served(to, Record(RecordType.Stdin, 1))]),
        new("stdin-early", "6.2", "STDIN before the end of PARAMS is an error, but nothing hangs",
            to => Any(Begin(), Record(RecordType.Params, 1, to.Params("POST", 4)),
                Record(RecordType.Stdin, 1, "body"u8), Record(RecordType.Params, 1), Record(RecordType.Stdin, 1))),
        new("large-body", "3.3",
            "A body of 1 MB in records of maximum size is accepted, or rejected with a response",
            to => [run => run.StartSendingAsync(to.Post(1_000_000)), Response(static response
                => RequireForm(response).IsWhole ? response.Describe() : throw Fail(response.Describe()))]),
        new("body-too-short", "6.2",
            "A body shorter than its CONTENT_LENGTH gets a response, and the connection stays usable",
            to => BodyLength(to, 10, 20)),
        new("body-too-long", "6.2", "A body longer than its CONTENT_LENGTH does not become the next request",
            to => BodyLength(to, 20, 10)),
        new("head", "RFC 3875 4.3.3", "The response to HEAD has no body",
            to => [Send(CreateRequest(to.Params("HEAD"))), Response(static response
                => response.IsWhole && response.Body.Length == 0
                    ? $"{response.Status}"
                    : throw Fail($"{response.Describe()}, with a body of {response.Body.Length} bytes"))]),
    ];

    /// <summary>Several requests on a connection (sections 3.3, 4.1 and 5.5).</summary>
    private static readonly Check[] s_shared =
    [
        new("told-truth", "4.1", "FCGI_MPXS_CONNS is true: 1 serves two concurrent requests on a connection, 0 refuses "
            + "the second with CANT_MPX_CONN", _ => [CompareAsync]),
        new("interleaved", "3.3", "Requests on one connection are independent: their records may be interleaved",
            to => [RequireMultiplexingAsync,
                Send([.. s_ids.SelectMany(static id => Begin(id))],
                    [.. s_ids.SelectMany(id => Record(RecordType.Params, id, to.Params().AsSpan(0, 20)))],
                    [.. s_ids.SelectMany(id => Record(RecordType.Params, id, to.Params().AsSpan(20)))],
                    [.. s_ids.SelectMany(static id => Record(RecordType.Params, id))],
                    [.. s_ids.SelectMany(static id => Record(RecordType.Stdin, id))]),
                .. s_ids.Select(id => Same(to, id, s_ids))]),
        new("abort-one", "5.4", "ABORT_REQUEST ends only its own request",
            to => [RequireMultiplexingAsync, Send(Begin(1), Begin(2),
                    Record(RecordType.Params, 1, to.Params()), Record(RecordType.AbortRequest, 2)),
                Response(static aborted => aborted.End is null
                    ? throw Fail($"the aborted request: {aborted.Describe()}")
                    : null, id: 2),
                .. Served(to, Record(RecordType.Params, 1), Record(RecordType.Stdin, 1))]),
    ];

    public static IReadOnlyList<Check> All { get; } =
        [.. s_records, .. s_parameters, .. s_management, .. s_connections, .. s_requests, .. s_shared];

    private static string Letters(int count) => new('v', count);

    private static string RequireEnd(CheckResponse response, RecordType stream)
        => response.Streams.GetValueOrDefault(stream)
            ? ""
            : throw Fail("END_REQUEST arrives without it; web servers tolerate that");

    private static string? FindWrongHeader(CheckResponse response)
    {
        if (response.Head is not { } head)
            return "the header block cannot be read";
        if (head.Headers.Any(
            static header => header.Key.Equals("Transfer-Encoding", StringComparison.OrdinalIgnoreCase)))
            return "there is a Transfer-Encoding header";
        return head.ContentLength is { } length && length != response.Body.Length
            ? $"Content-Length {length}, body of {response.Body.Length} bytes"
            : null;
    }

    private static string Describe(IEnumerable<KeyValuePair<string, string>> values)
        => string.Join(", ", values.Select(static value => $"{value.Key}={value.Value}"));

    private static string? FindWrong(Dictionary<string, string> values)
    {
        var wrong = values.Where(static value => value.Key == Multiplexes
            ? value.Value is not ("0" or "1")
            : !long.TryParse(value.Value, NumberStyles.None, CultureInfo.InvariantCulture, out _)).ToList();
        return wrong.Count == 0 ? null : throw Fail(Describe(wrong));
    }

    private static string? FindUnasked(Dictionary<string, string> values, params string[] asked)
        => values.Keys.Except(asked).ToList() is { Count: > 0 } more
            ? throw Fail($"{string.Join(", ", more)} unasked")
            : null;

    private static string DescribeRole(CheckResponse response) => response switch
    {
        _ when response.IsRefused(FastCgiProtocolStatus.UnknownRole) => "refused with UNKNOWN_ROLE",
        { IsWhole: true } => $"served: {response.Status}",
        _ => throw Fail(response.Describe()),
    };

    private static async Task<string?> RequireMultiplexingAsync(CheckRun run)
        => await run.GetValueAsync(Multiplexes) == "1" ? null : throw Skipped("the server does not multiplex");

    /// <summary>Compares what the server announces with what it does for two requests on a connection.</summary>
    private static async Task<string?> CompareAsync(CheckRun run)
    {
        var to = run.Server;
        var announced = await run.GetValueAsync(Multiplexes);
        var value = $"FCGI_MPXS_CONNS is {announced ?? "not announced"}";
        var peer = await run.ConnectAsync(Begin(1), Record(RecordType.Params, 1, to.Params()), to.Get(2));
        var second = await peer.ReadResponseAsync(2, 1);
        if (peer.HasEnded(1))
            throw Fail($"{value}; the first request ends before its PARAMS are complete");

        await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
        if (to.FindFault(await peer.ReadResponseAsync(1)) is { } harm)
            throw Fail($"{value}; the second request gets: {second.Describe()}; the first: {harm}");

        return (announced, second.IsWhole, second.IsRefused(FastCgiProtocolStatus.CantMultiplexConnection)) switch
        {
            ("1", true, _) => "1, and both are served",
            ("0", _, true) => "0, and the second is refused",
            (null, true, _) or (null, _, true) => $"it is not announced; the second gets {second.Describe()}",
            _ => throw Fail($"{value}, and the second request gets: {second.Describe()}"),
        };
    }
}
