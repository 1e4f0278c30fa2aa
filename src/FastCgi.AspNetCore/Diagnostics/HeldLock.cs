namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Checks the rule of locks: a thread holds the lock of at most one connection, and none when it calls the application,
/// the framework, log providers or listeners. Inside it, only leaf locks are taken, which are held briefly.
/// </summary>
internal static class HeldLock
{
    [ThreadStatic]
    private static bool t_isHeld;

    [ThreadStatic]
    private static int t_count;

    /// <summary>How often this thread has acquired the lock of a connection, if invariants are checked.</summary>
    public static int Count => t_count;

    public static void OnEntering()
    {
        if (t_isHeld)
            Invariants.Fail("The lock of a connection was taken inside another, or twice.");
        t_isHeld = true;
        t_count++;
    }

    public static void OnExited() => t_isHeld = false;

    /// <summary>Called before code that is not part of this server.</summary>
    public static void RequireNone(string what)
    {
        if (Invariants.AreChecked && t_isHeld)
            Invariants.Fail($"{what} is called while the lock of a connection is held.");
    }
}
