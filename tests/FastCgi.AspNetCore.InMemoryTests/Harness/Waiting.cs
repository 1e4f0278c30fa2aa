namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A rendezvous instead of a sleep: what is awaited comes, or the test says what did not.</summary>
internal static class Waiting
{
    /// <summary>How long a test waits for what must come.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

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
}
