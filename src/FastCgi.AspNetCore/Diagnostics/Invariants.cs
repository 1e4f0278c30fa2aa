namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Runtime checks of internal guarantees, such as the order of locks: in Debug builds, and with the switch
/// <c>FastCgi.AspNetCore.CheckInvariants</c>, as in all tests. A violation throws.
/// </summary>
/// <remarks>
/// The rule of locks: a thread holds the lock of at most one connection, and none when it calls the application, the
/// framework, log providers or listeners. Inside it, only leaf locks are taken, which are held briefly.
/// </remarks>
internal static class Invariants
{
    // Static and read-only, so that the JIT removes disabled checks.
#if DEBUG
    public static readonly bool AreChecked = true;
#else
    public static readonly bool AreChecked = AppContext.TryGetSwitch("FastCgi.AspNetCore.CheckInvariants", out var isOn)
        && isOn;
#endif

    private static Exception? s_firstViolation;

    [ThreadStatic]
    private static bool t_holdsLock;

    [ThreadStatic]
    private static int t_lockCount;

    /// <summary>For tests: the exception may be caught before it reaches them.</summary>
    public static Exception? FirstViolation => Volatile.Read(ref s_firstViolation);

    /// <summary>How often this thread has acquired the lock of a connection, if invariants are checked.</summary>
    public static int LockCount => t_lockCount;

    public static void OnLocking()
    {
        if (!AreChecked)
            return;
        if (t_holdsLock)
            Fail("The lock of a connection was taken inside another, or twice.");
        t_holdsLock = true;
        t_lockCount++;
    }

    public static void OnUnlocked()
    {
        if (AreChecked)
            t_holdsLock = false;
    }

    /// <summary>Called before code that is not part of this server.</summary>
    public static void RequireNoLock(string what)
    {
        if (AreChecked && t_holdsLock)
            Fail($"{what} is called while the lock of a connection is held.");
    }

    public static void Require(bool isSo, string what)
    {
        if (AreChecked && !isSo)
            Fail(what);
    }

    [DoesNotReturn]
    public static void Fail(string what)
    {
        var violation = new InvariantException(what);
        Interlocked.CompareExchange(ref s_firstViolation, violation, null);
        throw violation;
    }
}

internal sealed class InvariantException(string message) : InvalidOperationException(message);
