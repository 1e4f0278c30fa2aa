namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

/// <summary>ASP.NET Core's measurements of each request of one host.</summary>
internal sealed class RequestMeasurements : IDisposable
{
    private const string IdTag = "test.id";
    private const string ActiveRequestsName = "http.server.active_requests";

    // Kestrel throws its own type, which extends the framework's.
    private const string KestrelsBadRequest = "Microsoft.AspNetCore.Server.Kestrel.Core.BadHttpRequestException";

    private readonly MeterListener _listener = new();
    private readonly ConcurrentDictionary<string, TaskCompletionSource<string>> _requests = new();
    private long _activeRequests;

    public RequestMeasurements(IServiceProvider services)
    {
        var factory = services.GetRequiredService<IMeterFactory>();
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Name is "http.server.request.duration" or ActiveRequestsName && ReferenceEquals(
                instrument.Meter.Scope, factory))
                listener.EnableMeasurementEvents(instrument);
        };
        _listener.SetMeasurementEventCallback<long>((_, change, _, _) => Interlocked.Add(ref _activeRequests, change));
        _listener.SetMeasurementEventCallback<double>((_, _, tags, _) => Take(tags));
        _listener.Start();
    }

    /// <summary>The change in the number of active requests.</summary>
    public long ActiveRequests => Interlocked.Read(ref _activeRequests);

    /// <summary>Marks a request, so that its measurement can be found.</summary>
    public static void Mark(HttpContext context, string id)
        => context.Features.Get<IHttpMetricsTagsFeature>()!.Tags.Add(new(IdTag, id));

    /// <summary>The tags of a request's measurement, which hosting records when the request has ended.</summary>
    public Task<string> WaitAsync(string id) => GetSource(id).Task.Within("the measurement of the request");

    public void Dispose() => _listener.Dispose();

    private void Take(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var all = tags.ToArray();
        if (all.FirstOrDefault(static tag => tag.Key == IdTag).Value is string id)
            GetSource(id).TrySetResult(string.Join(' ', all.Where(static tag => tag.Key != IdTag).OrderBy(
                static tag => tag.Key).Select(static tag => $"{tag.Key}={GetValue(tag)}")));
    }

    private static object? GetValue(KeyValuePair<string, object?> tag)
        => tag is { Key: "error.type", Value: KestrelsBadRequest }
            ? typeof(BadHttpRequestException).FullName
            : tag.Value;

    private TaskCompletionSource<string> GetSource(string id)
        => _requests.GetOrAdd(id, static _ => Waiting.Signal<string>());
}
