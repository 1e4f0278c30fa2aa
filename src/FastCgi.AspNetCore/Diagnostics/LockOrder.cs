namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Locks that several layers take, in the order in which a thread may take them.</summary>
internal enum LockRank : byte
{
    None,

    /// <summary>
    /// The lock of a request: headers, response and body, which the application may use from several threads.
    /// </summary>
    Request,

    /// <summary>The lock of a connection: parser, requests, lifetime and send queue.</summary>
    Connection,
}

/// <summary>
/// Checks the order of locks: a request, then a connection, then leaf locks (pools, queues, lists), which are held for
/// a few instructions and never nested. A thread never holds two locks of one rank. Code of the application, the
/// framework, log providers and listeners is called without locks.
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
