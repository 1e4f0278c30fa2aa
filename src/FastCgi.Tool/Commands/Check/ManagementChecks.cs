using System.Globalization;
using FastCgi.AspNetCore.Protocol;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Management records (section 4).</summary>
internal static class ManagementChecks
{
    public const string MaxConnections = "FCGI_MAX_CONNS", MaxRequests = "FCGI_MAX_REQS", Multiplexes = "FCGI_MPXS_CONNS";

    public static IEnumerable<CheckCase> All =>
    [
        new("get-values", "GET_VALUES is answered with GET_VALUES_RESULT, id 0", "4.1", GetValuesAsync),
        new("values", "FCGI_MAX_CONNS and FCGI_MAX_REQS are decimal, FCGI_MPXS_CONNS is 0 or 1", "4.1", ValuesAsync),
        new("asked-only", "The result has only names that were asked for", "4.1", AskedOnlyAsync),
        new("unknown-names", "Names that are not understood are left out", "4.1", UnknownNamesAsync),
        new("no-names", "A GET_VALUES without names has a result without names", "4.1", NoNamesAsync),
        new("during-request", "GET_VALUES may come while a request is received", "4.1", DuringRequestAsync),
        new("unknown-management", "An unknown management type is answered with UNKNOWN_TYPE that names it", "4.2", UnknownTypeAsync),
        new("after-management", "The connection serves requests after both", "4", AfterAsync),
    ];

    /// <summary>Asks.</summary>
    /// <returns><see langword="null"/>, and why there is none.</returns>
    public static async Task<(Dictionary<string, string>? Values, string Problem)> AskAsync(CheckContext context, params string[] names)
    {
        using var peer = await context.ConnectAsync();
        return await AskAsync(peer, names);
    }

    private static async Task<(Dictionary<string, string>? Values, string Problem)> AskAsync(CheckPeer peer, string[] names)
    {
        await peer.SendAsync(Record(RecordType.GetValues, 0, Pairs(names.Select(static name => (name, "")))));
        try
        {
            return await peer.ReadRecordAsync() switch
            {
                null => (null, "the connection is closed"),
                { Type: RecordType.GetValuesResult, Id: 0 } result => (result.ReadPairs(), "its pairs cannot be read"),
                var other => (null, $"the answer is {RecordNames.Get(other.Type)}, id {other.Id}"),
            };
        }
        catch (TimeoutException)
        {
            return (null, "no answer");
        }
        catch (InvalidDataException exception)
        {
            return (null, exception.Message);
        }
    }

    private static async Task<CheckResult> GetValuesAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        var (values, problem) = await AskAsync(peer, [MaxConnections, MaxRequests, Multiplexes]);
        if (values is null)
            return CheckResult.Fail(problem);

        var text = string.Join(", ", values.Select(static value => $"{value.Key}={value.Value}"));
        // It is a single record, not a stream with an end.
        return await context.ExpectNextAsync(peer) is { Verdict: CheckVerdict.Fail } next ? CheckResult.Fail($"{text}; and then: {next.Detail}")
            : CheckResult.Pass(text);
    }

    private static async Task<CheckResult> ValuesAsync(CheckContext context)
    {
        var (values, problem) = await AskAsync(context, MaxConnections, MaxRequests, Multiplexes);
        if (values is null)
            return CheckResult.Skipped(problem);

        var wrong = values.Where(static value => value.Key == Multiplexes
            ? value.Value is not ("0" or "1")
            : !long.TryParse(value.Value, NumberStyles.None, CultureInfo.InvariantCulture, out _)).ToList();
        return wrong.Count == 0 ? CheckResult.Pass() : CheckResult.Fail(string.Join(", ", wrong.Select(static value => $"{value.Key}={value.Value}")));
    }

    private static async Task<CheckResult> AskedOnlyAsync(CheckContext context)
    {
        var (values, problem) = await AskAsync(context, MaxRequests);
        if (values is null)
            return CheckResult.Skipped(problem);

        values.Remove(MaxRequests);
        return values.Count == 0 ? CheckResult.Pass() : CheckResult.Fail($"{string.Join(", ", values.Keys)} unasked");
    }

    private static async Task<CheckResult> UnknownNamesAsync(CheckContext context)
    {
        var (values, problem) = await AskAsync(context, "FCGI_NO_SUCH_NAME");
        if (values is null)
            return CheckResult.Skipped(problem);
        return values.ContainsKey("FCGI_NO_SUCH_NAME") ? CheckResult.Fail("the unknown name has a value") : CheckResult.Pass();
    }

    private static async Task<CheckResult> NoNamesAsync(CheckContext context)
    {
        var (values, problem) = await AskAsync(context);
        if (values is null)
            return CheckResult.Fail(problem);
        return values.Count == 0 ? CheckResult.Pass() : CheckResult.Fail($"{string.Join(", ", values.Keys)} unasked");
    }

    private static async Task<CheckResult> DuringRequestAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Begin(), Record(RecordType.Params, 1, context.CreateParams()));
        var (values, problem) = await AskAsync(peer, [Multiplexes]);
        if (values is null)
            return CheckResult.Fail(problem);

        await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
        return context.Judge(await peer.ReadAnswerAsync());
    }

    private static async Task<CheckResult> UnknownTypeAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Record((RecordType)99, 0, "x"u8));
        try
        {
            return await peer.ReadRecordAsync() switch
            {
                null => CheckResult.Fail("the connection is closed"),
                { Type: RecordType.UnknownType, Id: 0, Content: [99, 0, 0, 0, 0, 0, 0, 0] } => CheckResult.Pass(),
                { Type: RecordType.UnknownType } other => CheckResult.Fail($"UNKNOWN_TYPE, id {other.Id}, content {Convert.ToHexString(other.Content)}"),
                var other => CheckResult.Fail($"the answer is {RecordNames.Get(other.Type)}"),
            };
        }
        catch (TimeoutException)
        {
            return CheckResult.Fail("no answer");
        }
    }

    private static async Task<CheckResult> AfterAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Record(RecordType.GetValues, 0, Pairs([(Multiplexes, "")])), Record((RecordType)99, 0));
        try
        {
            foreach (var expected in (RecordType[])[RecordType.GetValuesResult, RecordType.UnknownType])
            {
                if (await peer.ReadRecordAsync() is not { } record)
                    return CheckResult.Fail("the connection is closed");
                if (record.Type != expected)
                    return CheckResult.Fail($"{RecordNames.Get(record.Type)} comes where {RecordNames.Get(expected)} is expected");
            }
        }
        catch (TimeoutException)
        {
            return CheckResult.Fail("they are not both answered");
        }

        return await context.ExpectNextAsync(peer);
    }
}
