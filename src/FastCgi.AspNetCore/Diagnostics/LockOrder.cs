namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Locks of several layers, in the order in which a thread may acquire them.</summary>
internal enum LockRank : byte
{
    None,

    /// <summary>The lock of a request: headers, response, and body, used by several threads.</summary>
    Request,

    /// <summary>The lock of a connection: parser, requests, lifetime and send queue.</summary>
    Connection,
}

/// <summary>
/// Checks the order of locks: a request, a connection, then leaf locks, held briefly and never nested. A thread holds
/// at most one lock of each rank, and none when it calls the application, the framework, log providers or listeners.
/// </summary>
internal static class LockOrder
{
    [ThreadStatic]
    private static LockRank t_held;

    [ThreadStatic]
    private static int t_requestCount;

    [ThreadStatic]
    private static int t_connectionCount;

    public static (int Request, int Connection) Counts => (t_requestCount, t_connectionCount);

    /// <returns>The previous rank, for <see cref="OnExited"/>.</returns>
    public static LockRank OnEntering(LockRank rank, bool isHeld)
    {
        if (rank < t_held || (rank == t_held && !isHeld))
            Invariants.Fail($"The lock {rank} was taken inside {t_held}.");
        var before = t_held;
        t_held = rank;
        if (rank == LockRank.Request)
            t_requestCount++;
        else
            t_connectionCount++;
        return before;
    }

    public static void OnExited(LockRank before) => t_held = before;

    /// <summary>Called before code that is not part of this server.</summary>
    public static void RequireNone(string what)
    {
        if (Invariants.AreChecked && t_held != LockRank.None)
            Invariants.Fail($"{what} is called while the lock {t_held} is held.");
    }
}
