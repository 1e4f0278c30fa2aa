namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Runtime checks of internal guarantees, such as the order of locks: in Debug builds, and with the switch
/// <c>FastCgi.AspNetCore.CheckInvariants</c>, as in all tests. A violation throws.
/// </summary>
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

    /// <summary>For tests: the exception may be caught before it reaches them.</summary>
    public static Exception? FirstViolation => Volatile.Read(ref s_firstViolation);

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
