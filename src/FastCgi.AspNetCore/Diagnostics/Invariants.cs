using System.Diagnostics.CodeAnalysis;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Whether the server checks, while it runs, what its construction guarantees: the order of locks, and the state of a request that
/// is put into the pool. Always in Debug builds; in Release builds the switch <c>FastCgi.AspNetCore.CheckInvariants</c> turns the
/// checks on, as all tests do. A violation is an <see cref="InvariantException"/>.
/// </summary>
internal static class Invariants
{
    // Static and read-only, so that the compiler of the runtime removes the checks where they are off.
#if DEBUG
    public static readonly bool AreChecked = true;
#else
    public static readonly bool AreChecked = AppContext.TryGetSwitch("FastCgi.AspNetCore.CheckInvariants", out var isOn) && isOn;
#endif

    private static Exception? s_firstViolation;

    /// <summary>The first violation in this process, for tests: an exception alone may be caught on its way.</summary>
    public static Exception? FirstViolation => Volatile.Read(ref s_firstViolation);

    /// <summary>Throws unless something is so. Call it only where <see cref="AreChecked"/>.</summary>
    public static void Require(bool isSo, string what)
    {
        if (!isSo)
            Fail(what);
    }

    /// <summary>Throws, and records the violation.</summary>
    [DoesNotReturn]
    public static void Fail(string what)
    {
        var violation = new InvariantException(what);
        Interlocked.CompareExchange(ref s_firstViolation, violation, null);
        throw violation;
    }
}

/// <summary>A guarantee of the server does not hold: a defect of the server itself.</summary>
internal sealed class InvariantException(string message) : InvalidOperationException(message);
