namespace FastCgi.AspNetCore.ProcessTests.Starters;

/// <summary>Waits for what another process does and tells nobody.</summary>
internal static class Waiting
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(10);

    /// <summary>How long a test waits for what must happen; it passes only where a test fails.</summary>
    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(60);

    /// <summary>Waits until something is there.</summary>
    /// <param name="find">Looks for it.</param>
    /// <param name="explain">What to say if it does not come.</param>
    public static async Task<T> UntilAsync<T>(Func<Task<T?>> find, Func<string> explain)
        where T : class
    {
        using var timeout = new CancellationTokenSource(Patience);
        using var timer = new PeriodicTimer(s_interval);
        while (true)
        {
            if (await find() is { } found)
                return found;
            if (timeout.IsCancellationRequested)
                throw new TimeoutException(explain());
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }
    }
}
