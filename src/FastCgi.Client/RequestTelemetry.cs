using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Text.Json;

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
        var tags = new TagList
        {
            { "http.request.method", GetKnownName(request.Method) ?? "_OTHER" },
            { "server.address", uri.Host },
            { "server.port", uri.Port },
        };
        using var activity = s_source.StartActivity("System.Net.Http.HttpRequestOut", ActivityKind.Client);
        Inject(request, activity ?? Activity.Current);
        TagList active = [.. tags, new("url.scheme", uri.Scheme)];
        s_active.Add(1, active);
        string? error = null;
        try
        {
            var response = await send().ConfigureAwait(false);
            var status = (int)response.StatusCode;
            tags.Add("http.response.status_code", status);
            tags.Add("network.protocol.version", response.Version.ToString(2));
            error = status >= 400 ? status.ToString(CultureInfo.InvariantCulture) : null;
            return response;
        }
        catch (Exception exception)
        {
            error = exception is HttpRequestException { HttpRequestError: not HttpRequestError.Unknown and var known }
                ? JsonNamingPolicy.SnakeCaseLower.ConvertName($"{known}")
                : exception.GetType().FullName!;
            throw;
        }
        finally
        {
            if (error is not null)
                tags.Add("error.type", error);
            Describe(activity, request, tags, isFailed: error is not null);
            tags.Add("url.scheme", uri.Scheme);
            s_active.Add(-1, active);
            s_duration.Record(Stopwatch.GetElapsedTime(started).TotalSeconds, tags);
        }
    }

    private static void Describe(Activity? activity, HttpRequestMessage request, in TagList tags, bool isFailed)
    {
        if (activity is not { IsAllDataRequested: true })
            return;

        var (known, uri) = (GetKnownName(request.Method), request.RequestUri!);
        activity.DisplayName = known ?? "HTTP";
        foreach (var (name, value) in tags)
            activity.SetTag(name, value);
        if (known is null)
            activity.SetTag("http.request.method_original", request.Method.Method);
        // A query may contain secrets.
        activity.SetTag("url.full", uri.GetLeftPart(UriPartial.Path) + (uri.Query.Length > 0 ? "?*" : ""));
        if (isFailed)
            activity.SetStatus(ActivityStatusCode.Error);
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
}
