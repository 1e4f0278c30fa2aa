using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// Looks after threads that hold sends back: an application that flushes and then blocks its thread has its bytes sent all the
/// same. One thread for the process; it sleeps while nothing happens.
/// </summary>
internal static class SendDeferralWatch
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan s_patience = TimeSpan.FromMilliseconds(100);

    private static readonly List<WeakReference<SendDeferral>> s_deferrals = [];
    private static readonly AutoResetEvent s_wake = new(initialState: false);
    private static bool s_isStarted;
    private static int s_isParked;

    /// <summary>Adds what a thread holds; it leaves with its thread.</summary>
    public static SendDeferral Register(SendDeferral deferral)
    {
        lock (s_deferrals)
        {
            s_deferrals.RemoveAll(static reference => !reference.TryGetTarget(out _));
            s_deferrals.Add(new WeakReference<SendDeferral>(deferral));
            if (s_isStarted)
                return deferral;

            s_isStarted = true;
        }

        new Thread(Watch) { IsBackground = true, Name = "FastCgi send watch" }.UnsafeStart();
        return deferral;
    }

    /// <summary>A thread begins to hold sends back.</summary>
    public static void OnActivity()
    {
        if (Volatile.Read(ref s_isParked) != 0 && Interlocked.Exchange(ref s_isParked, 0) != 0)
            s_wake.Set();
    }

    private static void Watch()
    {
        var quietSince = Environment.TickCount64;
        while (true)
        {
            Thread.Sleep(s_interval);
            if (RescueOverdue())
                quietSince = Environment.TickCount64;
            else if (Environment.TickCount64 - quietSince > s_patience.TotalMilliseconds)
                Park(ref quietSince);
        }
    }

    private static void Park(ref long quietSince)
    {
        Volatile.Write(ref s_isParked, 1);
        // A thread that began in this instant has not seen that it must wake us.
        if (!RescueOverdue())
            s_wake.WaitOne();
        Volatile.Write(ref s_isParked, 0);
        quietSince = Environment.TickCount64;
    }

    /// <returns>Whether any thread has been active since the last look.</returns>
    private static bool RescueOverdue()
    {
        var isActive = false;
        lock (s_deferrals)
        {
            foreach (var reference in s_deferrals)
            {
                if (reference.TryGetTarget(out var deferral))
                    isActive |= deferral.Look();
            }
        }

        return isActive;
    }
}
