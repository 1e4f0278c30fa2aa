using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Connections: kept, closed, half-closed, several (sections 3.5, 5.1), and shared (3.3, 4.1, 5.5).</summary>
internal static class ConnectionChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("close", async context =>
        {
            using var peer = await context.ConnectAsync(context.CreateGet(keepsConnection: false));
            context.Require(await peer.ReadResponseAsync());
            return await peer.IsClosedAsync() switch
            {
                true => "",
                null => throw Fail("the connection stays open"),
                false => throw Fail("something follows END_REQUEST"),
            };
        }),
        new("keep", async context =>
        {
            using var peer = await context.ConnectAsync();
            await context.ExpectNextAsync(peer);
            return await peer.IsClosedAsync(context.Quiet) switch
            {
                null => await context.ExpectNextAsync(peer),
                true => throw Fail("the connection is closed"),
                false => throw Fail("something follows END_REQUEST"),
            };
        }),
        new("other-flags", async context =>
        {
            using var peer = await context.ConnectAsync(Begin(otherFlags: 0xFE),
                Stream(RecordType.Params, 1, context.CreateParams()), Record(RecordType.Stdin, 1));
            context.Require(await peer.ReadResponseAsync());
            return await context.ExpectNextAsync(peer);
        }),
        new("two-connections", async context =>
        {
            using var first = await context.ConnectAsync();
            await context.ExpectNextAsync(first);
            if (context.FindFault(await context.AskAsync(context.CreateGet())) is not { } fault)
                return "";

            // This is allowed if the server announces it.
            first.Dispose();
            context.IsSerial = true;
            throw await ManagementChecks.GetAsync(context, ManagementChecks.MaxConnections) == "1"
                ? Choice("one connection at a time, and FCGI_MAX_CONNS is 1")
                : Fail(fault);
        }),
        new("closed-early", async context =>
        {
            var request = context.CreatePost(1000);
            foreach (var length in (int[])[4, 12, 40, request.Length - 500])
            {
                (await context.ConnectAsync(request[..length])).Dispose();
                if (!await context.IsAliveAsync())
                    throw Fail($"closed after {length} bytes: a plain GET no longer gets a response");
            }

            return "";
        }),
        new("half-close", async context =>
        {
            using var peer = await context.ConnectAsync(context.CreateGet());
            peer.HalfClose();
            var response = await peer.ReadResponseAsync();
            throw await context.ChooseAsync(response.IsWhole ? "it does" : $"it does not: {response.Describe()}");
        }),
    ];

    public static IEnumerable<CheckCase> Shared =>
    [
        new("told-truth", async context =>
        {
            var announced = await ManagementChecks.GetAsync(context, ManagementChecks.Multiplexes);
            var value = $"FCGI_MPXS_CONNS is {announced ?? "not announced"}";
            using var peer = await context.ConnectAsync(
                Begin(1), Record(RecordType.Params, 1, context.CreateParams()), context.CreateGet(2));
            var (first, second) = (new CheckResponse(), new CheckResponse());
            var both = new Dictionary<int, CheckResponse> { [1] = first, [2] = second };
            await peer.ReadResponsesAsync(both, 2);
            if (first.End is not null)
                throw Fail($"{value}; the first request ends before its PARAMS are complete: {first.Describe()}");

            await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            await peer.ReadResponsesAsync(both, 1);
            if (context.FindFault(first) is { } harm)
                throw Fail($"{value}; the second request gets: {second.Describe()}; the first: {harm}");

            return (announced, second.IsWhole, second.IsRefused(FastCgiProtocolStatus.CantMultiplexConnection)) switch
            {
                ("1", true, _) => "1, and both are served",
                ("0", _, true) => "0, and the second is refused",
                (null, true, _) or (null, _, true) => $"it is not announced; the second gets {second.Describe()}",
                _ => throw Fail($"{value}, and the second request gets: {second.Describe()}"),
            };
        }),
        new("interleaved", async context =>
        {
            await RequireMultiplexingAsync(context);
            using var peer = await context.ConnectAsync();
            var parameters = context.CreateParams();
            var half = parameters.Length / 2;
            int[] ids = [1, 2, 300];
            Func<int, byte[]>[] steps =
            [
                static id => Begin(id),
                id => Record(RecordType.Params, id, parameters.AsSpan(0, half)),
                id => Record(RecordType.Params, id, parameters.AsSpan(half)),
                static id => [.. Record(RecordType.Params, id), .. Record(RecordType.Stdin, id)],
            ];
            foreach (var step in steps)
                await peer.SendAsync([.. ids.Select(step)]);

            var responses = ids.ToDictionary(static id => id, static _ => new CheckResponse());
            foreach (var id in ids)
                await peer.ReadResponsesAsync(responses, id);
            foreach (var response in responses.Values)
                context.Require(response);
            return peer.Flaws.Count == 0 ? "" : throw Fail(string.Join(", ", peer.Flaws));
        }),
        new("abort-one", async context =>
        {
            await RequireMultiplexingAsync(context);
            using var peer = await context.ConnectAsync(Begin(1), Begin(2),
                Record(RecordType.Params, 1, context.CreateParams()), Record(RecordType.AbortRequest, 2));
            var aborted = await peer.ReadResponseAsync(2);
            if (aborted.End is null)
                throw Fail($"the aborted request: {aborted.Describe()}");

            await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            return context.Require(await peer.ReadResponseAsync(1));
        }),
    ];

    private static async Task RequireMultiplexingAsync(CheckContext context)
    {
        if (await ManagementChecks.GetAsync(context, ManagementChecks.Multiplexes) != "1")
            throw Skipped("the server does not multiplex");
    }
}
