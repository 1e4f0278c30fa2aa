using System.Collections;
using System.Reflection;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.ParityTests.Observations;

/// <summary>
/// The whole state of an <see cref="HttpContext"/>: each property of the request, the response, and the connection, and
/// which of the framework's features are present, with their properties. Properties without a text form are omitted.
/// </summary>
internal static class ContextDump
{
    private static readonly HashSet<Type> s_textTypes =
    [
        typeof(string), typeof(PathString), typeof(QueryString), typeof(HostString), typeof(IPAddress),
        typeof(CancellationToken), typeof(Stream),
        typeof(IHeaderDictionary), typeof(IQueryCollection), typeof(IRequestCookieCollection),
        typeof(RouteValueDictionary), typeof(Endpoint),
        typeof(ClaimsPrincipal), typeof(X509Certificate2),
    ];

    private static readonly (
        Type Type,
        PropertyInfo[] Properties)[] s_features = [.. FindFeatures().Select(type => (type, FindProperties(type)))];
    private static readonly PropertyInfo[] s_request = FindProperties(typeof(HttpRequest));
    private static readonly PropertyInfo[] s_response = FindProperties(typeof(HttpResponse));
    private static readonly PropertyInfo[] s_connection = FindProperties(typeof(ConnectionInfo));
    private static readonly PropertyInfo[] s_context = FindProperties(typeof(HttpContext));

    public static IReadOnlyList<ObservedValue> Create(HttpContext context)
    {
        List<ObservedValue> observations = [];
        // The features come first: some of the properties add one.
        foreach (var (type, properties) in s_features)
        {
            if (context.Features[type] is not { } feature)
                continue;
            observations.Add(new ObservedValue(type.Name, "present"));
            Add(observations, type.Name, properties, feature);
        }

        Add(observations, nameof(HttpRequest), s_request, context.Request);
        Add(observations, nameof(HttpResponse), s_response, context.Response);
        Add(observations, nameof(ConnectionInfo), s_connection, context.Connection);
        Add(observations, nameof(HttpContext), s_context, context);
        return observations;
    }

    // Features are interfaces with such names, in any assembly of the framework.
    private static IEnumerable<Type> FindFeatures()
    {
        var paths = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator);
        return paths
            .Where(path => Path.GetFileName(path).StartsWith("Microsoft.AspNetCore.", StringComparison.Ordinal))
            .SelectMany(path => Assembly.Load(Path.GetFileNameWithoutExtension(path)).GetExportedTypes())
            .Where(type => type.IsInterface && type.Name.EndsWith("Feature", StringComparison.Ordinal))
            .OrderBy(type => type.Name, StringComparer.Ordinal);
    }

    private static PropertyInfo[] FindProperties(Type type)
        => [.. type.GetProperties().Where(
            property => property.GetIndexParameters().Length == 0 && HasText(property.PropertyType))
            .OrderBy(property => property.Name, StringComparer.Ordinal)];

    private static bool HasText(Type type)
        => type.IsPrimitive
            || type.IsEnum
            || (Nullable.GetUnderlyingType(type) is { } underlying && HasText(underlying))
            || s_textTypes.Contains(type);

    private static void Add(List<ObservedValue> observations, string owner, PropertyInfo[] properties, object target)
    {
        foreach (var property in properties)
        {
            foreach (var (part, text) in Describe(GetValue(property, target)))
                observations.Add(new ObservedValue($"{owner}.{property.Name}{part}", text));
        }
    }

    private static object? GetValue(PropertyInfo property, object target)
    {
        try
        {
            return property.GetValue(target);
        }
        catch (TargetInvocationException exception)
        {
            return $"throws {exception.InnerException!.GetType().Name}";
        }
    }

    private static IEnumerable<(string Part, string Text)> Describe(object? value) => value switch
    {
        null => [(string.Empty, "null")],
        // The host and the encoding of a body are compared by the headers, one by one.
        IEnumerable<KeyValuePair<string, StringValues>> values => values.Select(
            pair => ($"[{pair.Key}]", DescribeValues(pair.Value))),
        IEnumerable<KeyValuePair<string, string>> values => values.Select(pair => ($"[{pair.Key}]", pair.Value)),
        IEnumerable<KeyValuePair<string, object?>> values => values.Select(pair => ($"[{pair.Key}]", $"{pair.Value}")),
        CancellationToken token => [(string.Empty, $"can be canceled: {token.CanBeCanceled}")],
        Stream stream => [
            (string.Empty, $"can read, write, seek: {stream.CanRead}, {stream.CanWrite}, {stream.CanSeek}")],
        ClaimsPrincipal user => [(string.Empty, string.Join(
            ", ", user.Identities.Select(identity => $"{identity.AuthenticationType} {identity.Name}")))],
        X509Certificate2 certificate => [(string.Empty, $"{certificate.Subject} {certificate.Thumbprint}")],
        Endpoint endpoint => [(string.Empty, endpoint.DisplayName ?? string.Empty)],
        IFormattable formattable => [(string.Empty, formattable.ToString(null, CultureInfo.InvariantCulture))],
        _ => [(string.Empty, value.ToString() ?? string.Empty)],
    };

    // A repeated header differs from one with a comma.
    private static string DescribeValues(StringValues values) => string.Join(" | ", values.ToArray());
}
