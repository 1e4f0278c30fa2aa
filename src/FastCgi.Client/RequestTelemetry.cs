using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace FastCgi.Client;

/// <summary>
/// The activity, the trace headers and the metrics of a request. Names and tags are those of
/// <see cref="SocketsHttpHandler"/>, whose implementation is internal, so that one configuration observes both.
/// </summary>
internal static class RequestTelemetry
{
    private const string SourceName = "System.Net.Http";
    private static readonly ActivitySource s_source = new(SourceName);
    private static readonly Meter s_meter = new(SourceName);
    private static readonly UpDownCounter<long> s_active = s_meter.CreateUpDownCounter<long>(
        "http.client.active_requests", "{request}", "Number of active HTTP requests.");

    private static readonly Histogram<double> s_duration = s_meter.CreateHistogram(
        "http.client.request.duration", "s", "Duration of HTTP client requests.", advice: new InstrumentAdvice<double>
        {
            HistogramBucketBoundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
        });

    /// <summary>Sends a request, and measures it until the response headers arrive.</summary>
    public static async Task<HttpResponseMessage> MeasureAsync(
        HttpRequestMessage request, Func<Task<HttpResponseMessage>> send)
    {
        var uri = request.RequestUri!;
        var started = Stopwatch.GetTimestamp();
        var tags = CreateTags(request.Method, uri);
        using var activity = StartActivity(tags, request.Method, uri);
        Inject(request, activity ?? Activity.Current);
        tags.Add("url.scheme", uri.Scheme);
        var active = tags;
        s_active.Add(1, active);
        string? error = null;
        try
        {
            var response = await send().ConfigureAwait(false);
            var status = (int)response.StatusCode;
            AddTag(ref tags, activity, "http.response.status_code", status);
            AddTag(ref tags, activity, "network.protocol.version", response.Version.ToString(2));
            error = status >= 400 ? status.ToString(CultureInfo.InvariantCulture) : null;
            return response;
        }
        catch (Exception exception)
        {
            error = GetError(exception);
            throw;
        }
        finally
        {
            if (error is not null)
                AddTag(ref tags, activity?.SetStatus(ActivityStatusCode.Error), "error.type", error);
            s_active.Add(-1, active);
            s_duration.Record(Stopwatch.GetElapsedTime(started).TotalSeconds, tags);
        }
    }

    private static Activity? StartActivity(in TagList tags, HttpMethod method, Uri uri)
    {
        var activity = s_source.StartActivity("System.Net.Http.HttpRequestOut", ActivityKind.Client);
        if (activity is not { IsAllDataRequested: true })
            return activity;

        var known = GetKnownName(method);
        activity.DisplayName = known ?? "HTTP";
        foreach (var (name, value) in tags)
            activity.SetTag(name, value);
        if (known is null)
            activity.SetTag("http.request.method_original", method.Method);
        // A query may contain secrets.
        return activity.SetTag("url.full", uri.GetLeftPart(UriPartial.Path) + (uri.Query.Length > 0 ? "?*" : ""));
    }

    private static TagList CreateTags(HttpMethod method, Uri uri)
        => new()
        {
            { "http.request.method", GetKnownName(method) ?? "_OTHER" },
            { "server.address", uri.Host },
            { "server.port", uri.Port },
        };

    private static void AddTag(ref TagList tags, Activity? activity, string name, object value)
    {
        tags.Add(name, value);
        activity?.SetTag(name, value);
    }

    private static void Inject(HttpRequestMessage request, Activity? activity)
        => DistributedContextPropagator.Current.Inject(activity, request, static (message, name, value) =>
        {
            if (message is HttpRequestMessage { Headers: var headers } && !headers.NonValidated.Contains(name))
                headers.TryAddWithoutValidation(name, value);
        });

    private static string? GetKnownName(HttpMethod method)
        => method.Method.ToUpperInvariant() is "GET" or "HEAD" or "POST" or "PUT" or "DELETE" or "OPTIONS" or "TRACE"
            or "PATCH" or "CONNECT"
                ? method.Method.ToUpperInvariant()
                : null;

    private static string GetError(Exception exception)
        => (exception as HttpRequestException)?.HttpRequestError switch
        {
            HttpRequestError.ConnectionError => "connection_error",
            HttpRequestError.ResponseEnded => "response_ended",
            HttpRequestError.InvalidResponse => "invalid_response",
            HttpRequestError.ConfigurationLimitExceeded => "configuration_limit_exceeded",
            _ => exception.GetType().FullName!,
        };
}
