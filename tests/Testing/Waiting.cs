namespace FastCgi.AspNetCore.Testing;

/// <summary>A rendezvous instead of a sleep: what is awaited comes, or the test says what did not.</summary>
public static class Waiting
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(10);

    /// <summary>How long a test waits for what must happen; it passes only where a test fails.</summary>
    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(60);

    /// <summary>Waits for a task of this process.</summary>
    public static async Task Within(this Task task, string what)
    {
        try
        {
            await task.WaitAsync(Patience);
        }
        catch (TimeoutException)
        {
            throw new TimeoutException($"Waited in vain for {what}.");
        }
    }

    public static async Task<T> Within<T>(this Task<T> task, string what)
    {
        await ((Task)task).Within(what);
        return await task;
    }

    public static TaskCompletionSource Signal() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    public static TaskCompletionSource<T> Signal<T>() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Waits for what another process does and tells nobody.</summary>
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

    /// <summary>Waits for what another thread does and tells nobody.</summary>
    public static Task UntilAsync(Func<bool> condition, string what) => UntilAsync(() => Task.FromResult(condition()), static () => null, what);

    /// <summary>Waits until another process has made something.</summary>
    public static async Task<T> FindAsync<T>(Func<Task<T?>> find, Func<string> explain)
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
