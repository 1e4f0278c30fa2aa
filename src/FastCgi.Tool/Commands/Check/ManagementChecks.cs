using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Management records (section 4).</summary>
internal static class ManagementChecks
{
    public const string MaxConnections = "FCGI_MAX_CONNS";
    public const string MaxRequests = "FCGI_MAX_REQS";
    public const string Multiplexes = "FCGI_MPXS_CONNS";
    public const string Unknown = "FCGI_NO_SUCH_NAME";

    public static IEnumerable<CheckCase> All =>
    [
        new("get-values", async context =>
        {
            using var peer = await context.ConnectAsync();
            var (values, problem) = await AskAsync(peer, MaxConnections, MaxRequests, Multiplexes);
            var text = Describe(values ?? throw Fail(problem));
            // GET_VALUES is a single record, not a stream with an end.
            await peer.SendAsync(context.CreateGet());
            return context.FindFault(await peer.ReadResponseAsync()) is { } fault
                ? throw Fail($"{text}; the next request: {fault}")
                : text;
        }),
        new("values", context => ExpectAsync(
            context, CheckVerdict.Skipped, [MaxConnections, MaxRequests, Multiplexes], FindWrong)),
        new("asked-only", context => ExpectAsync(
            context, CheckVerdict.Skipped, [MaxRequests], static values => FindUnasked(values, MaxRequests))),
        new("unknown-names", context => ExpectAsync(context, CheckVerdict.Skipped, [Unknown],
            static values => values.ContainsKey(Unknown) ? "the unknown name has a value" : null)),
        new("no-names", context => ExpectAsync(context, CheckVerdict.Fail, [], static values => FindUnasked(values))),
        new("during-request", async context =>
        {
            using var peer = await context.ConnectAsync(Begin(), Record(RecordType.Params, 1, context.CreateParams()));
            var (values, problem) = await AskAsync(peer, Multiplexes);
            if (values is null)
                throw Fail(problem);

            await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            return context.Require(await peer.ReadResponseAsync());
        }),
        new("unknown-management", async context =>
        {
            using var peer = await context.ConnectAsync(Record((RecordType)99, 0, "x"u8));
            return await peer.RequireRecordAsync() switch
            {
                { Type: RecordType.UnknownType, Id: 0, Content: [99, 0, 0, 0, 0, 0, 0, 0] } => "",
                { Type: RecordType.UnknownType } other => throw Fail(
                    $"UNKNOWN_TYPE, id {other.Id}, content {Convert.ToHexString(other.Content)}"),
                var other => throw Fail($"the response is {RecordNames.Get(other.Type)}"),
            };
        }),
        new("after-management", async context =>
        {
            using var peer = await context.ConnectAsync(
                Record(RecordType.GetValues, 0, Pairs([(Multiplexes, "")])), Record((RecordType)99, 0));
            foreach (var expected in (RecordType[])[RecordType.GetValuesResult, RecordType.UnknownType])
            {
                var record = await peer.RequireRecordAsync();
                if (record.Type != expected)
                    throw Fail($"{RecordNames.Get(record.Type)} arrives where {RecordNames.Get(expected)} is expected");
            }

            return await context.ExpectNextAsync(peer);
        }),
    ];

    /// <returns><see langword="null"/> if the server does not announce the value.</returns>
    public static async Task<string?> GetAsync(CheckContext context, string name)
    {
        using var peer = await context.ConnectAsync();
        return (await AskAsync(peer, name)).Values?.GetValueOrDefault(name);
    }

    /// <returns>The values, or <see langword="null"/> and the reason.</returns>
    private static async Task<(Dictionary<string, string>? Values, string Problem)> AskAsync(
        CheckPeer peer, params string[] names)
    {
        await peer.SendAsync(Record(RecordType.GetValues, 0, Pairs(names.Select(static name => (name, "")))));
        return await peer.ReadRecordAsync() switch
        {
            (null, var problem) => (null, problem ?? "the connection is closed"),
            ({ Type: RecordType.GetValuesResult, Id: 0 } result, _)
                => (ClientConnection.ReadPairs(result.Content), "its pairs cannot be read"),
            var (other, _) => (null, $"the response is {RecordNames.Get(other.Type)}, id {other.Id}"),
        };
    }

    /// <summary>Requests values, and fails if there is a fault.</summary>
    private static async Task<string> ExpectAsync(CheckContext context, CheckVerdict without, string[] names,
        Func<Dictionary<string, string>, string?> findFault)
    {
        using var peer = await context.ConnectAsync();
        var (values, problem) = await AskAsync(peer, names);
        if (values is null)
            throw new CheckException(without, problem);
        return findFault(values) is { } fault ? throw Fail(fault) : "";
    }

    private static string Describe(IEnumerable<KeyValuePair<string, string>> values)
        => string.Join(", ", values.Select(static value => $"{value.Key}={value.Value}"));

    private static string? FindWrong(Dictionary<string, string> values)
    {
        var wrong = values.Where(static value => value.Key == Multiplexes
            ? value.Value is not ("0" or "1")
            : !long.TryParse(value.Value, NumberStyles.None, CultureInfo.InvariantCulture, out _)).ToList();
        return wrong.Count == 0 ? null : Describe(wrong);
    }

    private static string? FindUnasked(Dictionary<string, string> values, params string[] asked)
        => values.Keys.Except(asked).ToList() is { Count: > 0 } more ? $"{string.Join(", ", more)} unasked" : null;
}
