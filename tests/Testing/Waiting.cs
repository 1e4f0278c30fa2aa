namespace FastCgi.AspNetCore.Testing;

/// <summary>Waiting for events instead of sleeping: the event occurs, or the test reports which one did not.</summary>
public static class Waiting
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(10);

    /// <summary>The maximum time to wait for an expected event. Only a failing test waits that long.</summary>
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

    /// <summary>Polls for an event in another process.</summary>
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

    /// <summary>Polls for an event on another thread.</summary>
    public static Task UntilAsync(Func<bool> condition, string what)
        => UntilAsync(() => Task.FromResult(condition()), static () => null, what);

    /// <summary>Polls until a value is available.</summary>
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
