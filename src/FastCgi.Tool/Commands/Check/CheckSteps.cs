namespace FastCgi.Tool.Commands.Check;

/// <summary>The steps of scripts, and short sequences of them.</summary>
internal static class CheckSteps
{
    public const string MaxConnections = "FCGI_MAX_CONNS";
    public const string MaxRequests = "FCGI_MAX_REQS";
    public const string Multiplexes = "FCGI_MPXS_CONNS";

    public static Step Send(params byte[][] parts) => async run =>
    {
        await (await run.GetPeerAsync()).SendAsync(parts);
        return null;
    };

    public static Step Do(Action<CheckRun> act) => run =>
    {
        act(run);
        return Task.FromResult<string?>(null);
    };

    public static Step Close() => Do(static run => run.Close());

    /// <summary>Reads a response.</summary>
    /// <param name="others">Other active requests.</param>
    public static Step Response(Func<CheckResponse, string?> examine, int id = 1, params int[] others)
        => async run => examine(await (await run.GetPeerAsync()).ReadResponseAsync(id, others));

    /// <summary>Reads a record, or the reason why there is none.</summary>
    public static Step FirstRecord(Func<CheckRecord?, string?, string?> examine, bool isBrief = false) => async run =>
    {
        var peer = await run.GetPeerAsync();
        var (record, problem) = await peer.ReadRecordAsync(isBrief ? run.Server.Quiet : null);
        return examine(record, problem);
    };

    /// <summary>Requests values, and examines them.</summary>
    /// <param name="isSkipped">Whether it is no fault of this check if there are none.</param>
    public static Step Values(Func<Dictionary<string, string>, string?> examine, bool isSkipped, params string[] names)
        => async run => await (await run.GetPeerAsync()).ReadValuesAsync(names) switch
        {
            (null, var problem) => throw (isSkipped ? Skipped(problem) : Fail(problem)),
            var (values, _) => examine(values),
        };

    /// <summary>Expects that the server serves others after the connection.</summary>
    public static Step Survive() => async run =>
    {
        run.Close();
        return await run.SurviveAsync(run.Detail);
    };

    /// <summary>Runs steps whose details and faults get a name.</summary>
    public static Step Named(string name, params Step[] steps) => async run =>
    {
        var before = run.Detail;
        run.Detail = "";
        try
        {
            await run.ExecuteAsync(steps);
            return run.Detail.Length > 0 ? Join(", ", run.Detail) : before;
        }
        catch (CheckException exception)
        {
            throw Fail(Join("; ", exception.Message));
        }

        string Join(string separator, string text) => $"{before}{(before.Length > 0 ? separator : "")}{name}: {text}";
    };

    public static Step[] ForEach<T>(IEnumerable<T> items, Func<T, Step[]> create) => [.. items.SelectMany(create)];

    /// <summary>Expects the response to a plain GET.</summary>
    public static Step Same(CheckedServer to, int id = 1, params int[] others)
        => Response(response => Refute(to.FindFault(response)), id, others);

    public static Step[] Served(CheckedServer to, params byte[][] parts) => [Send(parts), Same(to)];

    public static Step[] Next(CheckedServer to, int id = 1) => [Send(to.Get(id)), Same(to, id)];

    /// <summary>Expects another response than that to a plain GET, or none.</summary>
    public static Step NotServed(CheckedServer to, Func<int, string> describe) => Response(response
        => to.IsServed(response) ? throw Fail(describe(response.Status)) : response.Describe());

    /// <summary>Expects any response.</summary>
    public static Step[] Any(params byte[][] parts) =>
    [
        Send(parts),
        Response(static response => response.Problem == CheckPeer.Silent
            ? throw Fail(response.Describe())
            : response.Describe()),
        Survive(),
    ];

    /// <summary>Expects nothing after a response.</summary>
    public static Step Nothing(bool closes) => FirstRecord((_, problem) => (problem, closes) switch
    {
        (CheckPeer.Closed, true) or (CheckPeer.Silent, false) => null,
        (CheckPeer.Closed, _) => throw Fail("the connection is closed"),
        (CheckPeer.Silent, _) => throw Fail("the connection stays open"),
        _ => throw Fail("something follows END_REQUEST"),
    }, isBrief: !closes);

    /// <summary>Sends a stray record, then a request.</summary>
    public static Step[] Stray(CheckedServer to, byte[] stray) =>
    [
        Send(stray, to.Get()),
        FirstRecord(static (record, problem) => (record, problem) switch
        {
            (_, CheckPeer.Closed) => "closes the connection",
            (_, CheckPeer.Silent) => "sends nothing, and does not serve the next request",
            (null, _) => throw Fail(problem!),
            ({ Type: RecordType.Stdout or RecordType.Stderr, Id: 1 }, _) => "ignores it and serves the next request",
            _ => $"responds with {RecordNames.Get(record.Type)}",
        }),
        Survive(),
    ];

    public static Step[] Abort(CheckedServer to, params byte[][] begun) =>
    [
        Send([.. begun, Record(RecordType.AbortRequest, 1)]),
        Response(static response => RequireForm(response).End is { } end
            ? $"{end.ProtocolStatus}, appStatus {end.AppStatus}"
            : throw Fail(response.Describe())),
        Named("the next request", Next(to)),
    ];

    /// <summary>Sends a body with a wrong length, after which the server may close the connection.</summary>
    public static Step[] BodyLength(CheckedServer to, int sent, int declared) =>
    [
        Send(to.Post(sent, declared)),
        Response(static response => RequireForm(response) is { Problem: null or CheckPeer.Closed }
            ? response.Describe()
            : throw Fail(response.Describe())),
        Named("the next request", Send(to.Get()), Response(next => next.Problem == CheckPeer.Closed
            ? next.Describe()
            : Refute(to.FindFault(next)))),
        Survive(),
    ];

    /// <summary>Sends what no web server sends. The server may do anything, but must serve others.</summary>
    public static Step[] React(params byte[][] parts) =>
    [
        Send(parts),
        FirstRecord(static (record, problem) => (record, problem) switch
        {
            (_, CheckPeer.Silent) => "no reaction",
            (null, _) => problem,
            ({ Type: RecordType.EndRequest, Content.Length: 8 }, _) => $"END_REQUEST, {record.ProtocolStatus}",
            ({ Type: RecordType.Stdout }, _)
                => $"responded: {Encoding.Latin1.GetString(record.Content).Split('\r', '\n')[0]}",
            _ => RecordNames.Get(record.Type),
        }, isBrief: true),
        async run =>
        {
            // While the hostile connection is open, unless the server serves one at a time.
            if (!run.Server.IsSerial && await run.IsAliveAsync())
                return null;
            run.Close();
            return $"{await run.SurviveAsync(run.Detail)}; others are served after the connection closes";
        },
    ];

    public static string? Refute(string? fault) => fault is null ? null : throw Fail(fault);

    public static CheckResponse RequireForm(CheckResponse response)
        => response.Flaws.Length > 0 ? throw Fail(string.Join(", ", response.Flaws)) : response;
}
