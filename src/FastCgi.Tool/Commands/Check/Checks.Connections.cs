namespace FastCgi.Tool.Commands.Check;

/// <content>Connections: kept, closed, several (sections 3.5, 5.1), and shared (3.3, 4.1, 5.5).</content>
internal sealed partial class Checks
{
    private IEnumerable<(string Id, Run Run)> Connections =>
    [
        ("close", async () =>
        {
            var peer = await ConnectAsync(CreateGet(keepsConnection: false));
            Require(await peer.ReadResponseAsync());
            return await peer.ReadRecordAsync() switch
            {
                (null, CheckPeer.Closed) => "",
                (null, CheckPeer.Silent) => throw Fail("the connection stays open"),
                _ => throw Fail("something follows END_REQUEST"),
            };
        }),
        ("keep", async () =>
        {
            var peer = await ConnectAsync();
            await NextAsync(peer);
            return await peer.ReadRecordAsync(_quiet) switch
            {
                // The same id again.
                (null, CheckPeer.Silent) => await NextAsync(peer),
                (null, CheckPeer.Closed) => throw Fail("the connection is closed"),
                _ => throw Fail("something follows END_REQUEST"),
            };
        }),
        ("other-flags", async () =>
        {
            var peer = await ConnectAsync(Begin(otherFlags: 0xFE),
                Stream(RecordType.Params, 1, CreateParams()), Record(RecordType.Stdin, 1));
            Require(await peer.ReadResponseAsync());
            return await NextAsync(peer);
        }),
        ("two-connections", async () =>
        {
            var first = await ConnectAsync();
            await NextAsync(first);
            if (FindFault(await AskAsync(CreateGet())) is not { } fault)
                return "";

            // This is allowed if the server announces it.
            first.Dispose();
            _isSerial = true;
            return await GetValueAsync(MaxConnections) == "1"
                ? "one connection at a time, and FCGI_MAX_CONNS is 1"
                : throw Fail(fault);
        }),
        ("closed-early", async () =>
        {
            var request = CreatePost(1000);
            foreach (var length in (int[])[4, 12, 40, request.Length - 500])
            {
                (await ConnectAsync(request[..length])).Dispose();
                (await ConnectAsync(request[..length])).Reset();
                await WithPrefixAsync($"closed after {length} bytes", SurviveAsync());
            }

            return "";
        }),
        ("half-close", async () =>
        {
            var peer = await ConnectAsync(CreateGet());
            peer.HalfClose();
            var response = await peer.ReadResponseAsync();
            return await SurviveAsync(response.IsWhole ? "it does" : $"it does not: {response.Describe()}");
        }),
    ];

    private IEnumerable<(string Id, Run Run)> Shared =>
    [
        ("told-truth", async () =>
        {
            var announced = await GetValueAsync(Multiplexes);
            var value = $"FCGI_MPXS_CONNS is {announced ?? "not announced"}";
            var peer = await ConnectAsync(Begin(1), Record(RecordType.Params, 1, CreateParams()), CreateGet(2));
            var second = await peer.ReadResponseAsync(2, 1);
            if (peer.HasEnded(1))
                throw Fail($"{value}; the first request ends before its PARAMS are complete");

            await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            if (FindFault(await peer.ReadResponseAsync(1)) is { } harm)
                throw Fail($"{value}; the second request gets: {second.Describe()}; the first: {harm}");

            return (announced, second.IsWhole, second.IsRefused(FastCgiProtocolStatus.CantMultiplexConnection)) switch
            {
                ("1", true, _) => "1, and both are served",
                ("0", _, true) => "0, and the second is refused",
                (null, true, _) or (null, _, true) => $"it is not announced; the second gets {second.Describe()}",
                _ => throw Fail($"{value}, and the second request gets: {second.Describe()}"),
            };
        }),
        ("interleaved", async () =>
        {
            var parameters = CreateParams();
            var half = parameters.Length / 2;
            int[] ids = [1, 2, 300];
            var peer = await ConnectSharedAsync(
                [.. ids.SelectMany(static id => Begin(id))],
                [.. ids.SelectMany(id => Record(RecordType.Params, id, parameters.AsSpan(0, half)))],
                [.. ids.SelectMany(id => Record(RecordType.Params, id, parameters.AsSpan(half)))],
                [.. ids.SelectMany(static id => Record(RecordType.Params, id))],
                [.. ids.SelectMany(static id => Record(RecordType.Stdin, id))]);
            foreach (var id in ids)
                Require(await peer.ReadResponseAsync(id, ids));
            return "";
        }),
        ("abort-one", async () =>
        {
            var peer = await ConnectSharedAsync(Begin(1), Begin(2),
                Record(RecordType.Params, 1, CreateParams()), Record(RecordType.AbortRequest, 2));
            var aborted = await peer.ReadResponseAsync(2);
            if (aborted.End is null)
                throw Fail($"the aborted request: {aborted.Describe()}");

            await peer.SendAsync(Record(RecordType.Params, 1), Record(RecordType.Stdin, 1));
            return Require(await peer.ReadResponseAsync(1));
        }),
    ];

    private async Task<CheckPeer> ConnectSharedAsync(params byte[][] parts)
        => await GetValueAsync(Multiplexes) == "1"
            ? await ConnectAsync(parts)
            : throw Skipped("the server does not multiplex");
}
