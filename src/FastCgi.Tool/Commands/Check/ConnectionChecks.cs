using FastCgi.AspNetCore.Protocol;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Connections: kept, closed, half-closed, several (sections 3.5 and 5.1).</summary>
internal static class ConnectionChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("close", "Without FCGI_KEEP_CONN the server closes the connection after the response", "5.1", CloseAsync),
        new("keep", "With FCGI_KEEP_CONN it does not, and nothing follows END_REQUEST", "5.1", KeepAsync),
        new("other-flags", "Other bits of the flags are ignored", "5.1", OtherFlagsAsync),
        new("two-connections", "A second connection is served while the first is idle, if FCGI_MAX_CONNS says so", "4.1", TwoConnectionsAsync),
        new("closed-early", "The web server may close the connection at any time; the server lives on", "3.5", ClosedEarlyAsync),
        new("half-close", "Whether a client that has shut down its sending side gets its answer is open", "3.5", HalfCloseAsync),
    ];

    private static async Task<CheckResult> CloseAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(context.CreateGet(keepsConnection: false));
        var result = context.Judge(await peer.ReadAnswerAsync());
        if (result.Verdict != CheckVerdict.Pass)
            return result;

        return await peer.IsClosedAsync() switch
        {
            true => CheckResult.Pass(),
            null => CheckResult.Fail("the connection stays open"),
            false => CheckResult.Fail("something follows END_REQUEST"),
        };
    }

    private static async Task<CheckResult> KeepAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        var result = await context.ExpectNextAsync(peer);
        if (result.Verdict != CheckVerdict.Pass)
            return result;

        return await peer.IsClosedAsync(context.Quiet) switch
        {
            null => await context.ExpectNextAsync(peer),
            true => CheckResult.Fail("the connection is closed"),
            false => CheckResult.Fail("something follows END_REQUEST"),
        };
    }

    private static async Task<CheckResult> OtherFlagsAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(Begin(otherFlags: 0xFE), Stream(RecordType.Params, 1, context.CreateParams()), Record(RecordType.Stdin, 1));
        var result = context.Judge(await peer.ReadAnswerAsync());
        return result.Verdict == CheckVerdict.Pass ? await context.ExpectNextAsync(peer) : result;
    }

    private static async Task<CheckResult> TwoConnectionsAsync(CheckContext context)
    {
        using var first = await context.ConnectAsync();
        var result = await context.ExpectNextAsync(first);
        if (result.Verdict != CheckVerdict.Pass)
            return result;

        var second = await context.ExpectSameAsync(context.CreateGet());
        if (second.Verdict == CheckVerdict.Pass)
            return second;

        // A server that says so itself may take one at a time.
        first.Dispose();
        var (values, _) = await ManagementChecks.AskAsync(context, ManagementChecks.MaxConnections);
        return values?.GetValueOrDefault(ManagementChecks.MaxConnections) == "1"
            ? CheckResult.Choice("one connection at a time, and FCGI_MAX_CONNS is 1") : second;
    }

    private static async Task<CheckResult> ClosedEarlyAsync(CheckContext context)
    {
        var request = context.CreatePost(1000);
        foreach (var length in (int[])[4, 12, 40, request.Length - 500])
        {
            using (var peer = await context.ConnectAsync())
                await peer.SendAsync(request[..length]);
            if (!await context.IsAliveAsync())
                return CheckResult.Fail($"closed after {length} bytes: a plain GET is not answered any more");
        }

        return CheckResult.Pass();
    }

    private static async Task<CheckResult> HalfCloseAsync(CheckContext context)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(context.CreateGet());
        peer.HalfClose();
        var answer = await peer.ReadAnswerAsync();
        return await context.ChooseAsync(answer.IsWhole ? "it does" : $"it does not: {answer.Describe()}");
    }
}
