namespace FastCgi.Tool.Commands.Check;

/// <content>Management records (section 4).</content>
internal sealed partial class Checks
{
    private const string MaxConnections = "FCGI_MAX_CONNS";
    private const string MaxRequests = "FCGI_MAX_REQS";
    private const string Multiplexes = "FCGI_MPXS_CONNS";
    private const string Unknown = "FCGI_NO_SUCH_NAME";

    private IEnumerable<(string Id, Run Run)> Management =>
    [
        ("get-values", async () =>
        {
            var peer = await ConnectAsync();
            var (values, problem) = await AskAsync(peer, MaxConnections, MaxRequests, Multiplexes);
            var text = Describe(values ?? throw Fail(problem));
            // GET_VALUES is a single record, not a stream with an end.
            await WithPrefixAsync($"{text}; the next request", NextAsync(peer));
            return text;
        }),
        ("values", () => ValuesAsync([MaxConnections, MaxRequests, Multiplexes], FindWrong)),
        ("asked-only", () => ValuesAsync([MaxRequests], static values => FindUnasked(values, MaxRequests))),
        ("unknown-names", () => ValuesAsync([Unknown],
            static values => values.ContainsKey(Unknown) ? "the unknown name has a value" : null)),
        ("no-names", () => ValuesAsync([], static values => FindUnasked(values))),
        ("during-request", async () =>
        {
            var peer = await ConnectAsync(Begin(), Record(RecordType.Params, 1, CreateParams()));
            var (values, problem) = await AskAsync(peer, Multiplexes);
            if (values is null)
                throw Fail(problem);

            await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            return Require(await peer.ReadResponseAsync());
        }),
        ("unknown-management", async () =>
        {
            var peer = await ConnectAsync(Record((RecordType)99, 0, "x"u8));
            return await peer.RequireRecordAsync() switch
            {
                { Type: RecordType.UnknownType, Id: 0, Content: [99, 0, 0, 0, 0, 0, 0, 0] } => "",
                var other => throw Fail($"the response is {RecordNames.Get(other.Type)}, id {other.Id}, "
                    + $"content {Convert.ToHexString(other.Content)}"),
            };
        }),
    ];

    /// <returns><see langword="null"/> if the server does not announce the value.</returns>
    private async Task<string?> GetValueAsync(string name)
    {
        var peer = await ConnectAsync();
        var (values, _) = await AskAsync(peer, name);
        peer.Dispose();
        return values?.GetValueOrDefault(name);
    }

    /// <returns>The values, or <see langword="null"/> and the reason.</returns>
    private static async Task<(Dictionary<string, string>? Values, string Problem)> AskAsync(
        CheckPeer peer, params string[] names)
    {
        await peer.SendAsync(Record(RecordType.GetValues, 0, Pairs(names.Select(static name => (name, "")))));
        return await peer.ReadRecordAsync() switch
        {
            (null, var problem) => (null, problem!),
            ({ Type: RecordType.GetValuesResult, Id: 0 } result, _)
                => (ClientConnection.ReadPairs(result.Content), "its pairs cannot be read"),
            var (other, _) => (null, $"the response is {RecordNames.Get(other.Type)}, id {other.Id}"),
        };
    }

    /// <summary>Requests values, and fails if there is a fault. Whether there is a result has its own check.</summary>
    private async Task<string> ValuesAsync(string[] names, Func<Dictionary<string, string>, string?> findFault)
    {
        var (values, problem) = await AskAsync(await ConnectAsync(), names);
        if (values is null)
            throw names.Length > 0 ? Skipped(problem) : Fail(problem);
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
