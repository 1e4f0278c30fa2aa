namespace FastCgi.AspNetCore.LifeCycleTests.Harness;

/// <summary>Waits for other processes, which tell nobody when they are ready.</summary>
internal static class Waiting
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(10);

    /// <summary>How long a test waits for what must happen; it passes only where a test fails.</summary>
    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(30);

    /// <param name="condition">What is waited for.</param>
    /// <param name="getFailure">Tells why it will never be so.</param>
    /// <param name="what">Its name, for the message.</param>
    public static async Task UntilAsync(Func<Task<bool>> condition, Func<string?> getFailure, string what)
    {
        using var timeout = new CancellationTokenSource(Patience);
        using var timer = new PeriodicTimer(s_interval);
        while (!await condition())
        {
            if (getFailure() is { } failure)
                throw new InvalidOperationException(failure);
            if (timeout.IsCancellationRequested)
                throw new TimeoutException($"Waited in vain for {what}.");
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }
    }
}
