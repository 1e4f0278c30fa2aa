using FastCgi.AspNetCore.Protocol;
using FastCgi.Client;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Several requests on one connection (sections 3.3, 4.1 and 5.5).</summary>
internal static class MultiplexingChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("told-truth", "FCGI_MPXS_CONNS is the truth: 1 serves two requests of a connection at the same time, 0 refuses the second with CANT_MPX_CONN", "4.1", TruthAsync),
        new("interleaved", "Requests of one connection are independent: their records may come in turn", "3.3", InterleavedAsync),
        new("abort-one", "ABORT_REQUEST ends its own request and no other", "5.4", AbortOneAsync),
    ];

    private static async Task<CheckResult> TruthAsync(CheckContext context)
    {
        var told = await GetToldAsync(context);
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Begin(1), Record(RecordType.Params, 1, context.CreateParams()));
        await peer.SendAsync(context.CreateGet(2));
        var (first, second) = (new CheckAnswer(), new CheckAnswer());
        var both = new Dictionary<int, CheckAnswer> { [1] = first, [2] = second };
        await peer.ReadAnswersAsync(both, 2);
        if (first.End is not null)
            return CheckResult.Fail($"FCGI_MPXS_CONNS is {told ?? "not announced"}; the first request is answered before its PARAMS end: {first.Describe()}");

        await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
        await peer.ReadAnswersAsync(both, 1);
        if (context.Judge(first) is { Verdict: not CheckVerdict.Pass } harmed)
            return CheckResult.Fail($"FCGI_MPXS_CONNS is {told ?? "not announced"}; the second request gets: {second.Describe()}; the first: {harmed.Detail}");

        var isRefused = second.End is { ProtocolStatus: (int)FastCgiProtocolStatus.CantMultiplexConnection };
        var isServed = second.IsWhole;
        return (told, isServed, isRefused) switch
        {
            ("1", true, _) => CheckResult.Pass("1, and both are served"),
            ("0", _, true) => CheckResult.Pass("0, and the second is refused"),
            (null, true, _) or (null, _, true) => CheckResult.Pass($"it is not announced; the second gets {second.Describe()}"),
            _ => CheckResult.Fail($"FCGI_MPXS_CONNS is {told ?? "not announced"}, and the second request gets: {second.Describe()}"),
        };
    }

    private static async Task<CheckResult> InterleavedAsync(CheckContext context)
    {
        if (await GetToldAsync(context) != "1")
            return CheckResult.Skipped("the server does not multiplex");

        using var peer = await context.ConnectAsync();
        var parameters = context.CreateParams();
        var half = parameters.Length / 2;
        int[] ids = [1, 2, 300];
        await SendAllAsync(id => Begin(id));
        await SendAllAsync(id => Record(RecordType.Params, id, parameters.AsSpan(0, half)));
        await SendAllAsync(id => Record(RecordType.Params, id, parameters.AsSpan(half)));
        await SendAllAsync(id => [.. Record(RecordType.Params, id), .. Record(RecordType.Stdin, id)]);

        var answers = ids.ToDictionary(static id => id, static _ => new CheckAnswer());
        foreach (var id in ids)
            await peer.ReadAnswersAsync(answers, id);

        var bad = answers.Values.Select(context.Judge).FirstOrDefault(static result => result.Verdict != CheckVerdict.Pass);
        return bad ?? (peer.Flaws.Count == 0 ? CheckResult.Pass() : CheckResult.Fail(string.Join(", ", peer.Flaws)));

        async Task SendAllAsync(Func<int, byte[]> create)
        {
            foreach (var id in ids)
                await peer.SendAsync(create(id));
        }
    }

    private static async Task<CheckResult> AbortOneAsync(CheckContext context)
    {
        if (await GetToldAsync(context) != "1")
            return CheckResult.Skipped("the server does not multiplex");

        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Begin(1), Begin(2), Record(RecordType.Params, 1, context.CreateParams()), Record(RecordType.AbortRequest, 2));
        var aborted = await peer.ReadAnswerAsync(2);
        if (aborted.End is null)
            return CheckResult.Fail($"the aborted one: {aborted.Describe()}");

        await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
        return context.Judge(await peer.ReadAnswerAsync(1));
    }

    private static async Task<string?> GetToldAsync(CheckContext context)
        => (await ManagementChecks.AskAsync(context, ManagementChecks.Multiplexes)).Values?.GetValueOrDefault(ManagementChecks.Multiplexes);
}
