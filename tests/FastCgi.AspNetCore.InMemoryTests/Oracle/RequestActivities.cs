namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

internal sealed class RequestActivities : IDisposable
{
    private readonly ConcurrentDictionary<Activity, TaskCompletionSource<string>> _stopped = new(
        ReferenceEqualityComparer.Instance);
    private readonly ActivityListener _listener;

    public RequestActivities()
    {
        _listener = new ActivityListener
        {
            ShouldListenTo = static source => source.Name == "Microsoft.AspNetCore",
            Sample =
                static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = activity => GetSource(activity).TrySetResult(Describe(activity)),
        };
        ActivitySource.AddActivityListener(_listener);
    }

    public Task<string> WaitAsync(Activity activity) => GetSource(activity).Task.Within("the end of the activity");

    public void Dispose() => _listener.Dispose();

    private static string Describe(Activity activity)
    {
        var tags = activity.TagObjects.Select(static tag => $"{tag.Key}={tag.Value}").Order(StringComparer.Ordinal);
        return $"{activity.OperationName} {activity.DisplayName} {activity.Kind} {activity.Status} "
            + $"{activity.ParentId} {activity.Duration > TimeSpan.Zero} {string.Join(' ', tags)}";
    }

    private TaskCompletionSource<string> GetSource(Activity activity)
        => _stopped.GetOrAdd(activity, static _ => Waiting.Signal<string>());
}
