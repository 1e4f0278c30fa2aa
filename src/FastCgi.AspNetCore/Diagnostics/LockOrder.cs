namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>The locks that more than one stage takes, in the order in which one thread may take them.</summary>
internal enum LockRank : byte
{
    /// <summary>No such lock.</summary>
    None,

    /// <summary>Of one request: its headers, what is written, and its body. The application may use both from several threads.</summary>
    Request,

    /// <summary>Of one connection: its parser, its table of requests, its lifetime, and what waits to be sent.</summary>
    Connection,
}

/// <summary>
/// The order of locks: a request, then a connection, then one of the leaf locks, which are taken for a few instructions and never
/// with another inside (pools, queues, lists of connections and of sources). A thread never holds two of one rank. Code of the
/// application, of the framework, of log providers and of listeners is called with none of them held.
/// </summary>
internal static class LockOrder
{
    [ThreadStatic]
    private static LockRank t_held;

    [ThreadStatic]
    private static int t_depth;

    [ThreadStatic]
    private static int t_requestCount;

    [ThreadStatic]
    private static int t_connectionCount;

    /// <summary>How often this thread has taken the lock of a request, and that of a connection.</summary>
    public static (int Request, int Connection) Counts => (t_requestCount, t_connectionCount);

    /// <summary>A lock is about to be taken.</summary>
    /// <param name="rank">Its rank.</param>
    /// <param name="isHeld">Whether this thread has it already.</param>
    /// <returns>The rank that was held before, for <see cref="OnExited"/>.</returns>
    public static LockRank OnEntering(LockRank rank, bool isHeld)
    {
        if (rank < t_held || (rank == t_held && !isHeld))
            Invariants.Fail($"The lock {rank} was taken inside {t_held}.");
        var before = t_held;
        t_held = rank;
        t_depth++;
        if (rank == LockRank.Request)
            t_requestCount++;
        else
            t_connectionCount++;
        return before;
    }

    /// <summary>A lock was released.</summary>
    public static void OnExited(LockRank before)
    {
        t_held = before;
        t_depth--;
    }

    /// <summary>Code that is not the server's own is about to be called.</summary>
    public static void RequireNone(string what)
    {
        if (Invariants.AreChecked && t_depth != 0)
            Invariants.Fail($"{what} is called while the lock {t_held} is held.");
    }
}
