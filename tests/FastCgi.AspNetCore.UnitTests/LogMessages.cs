namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The log messages of the server. The name of an event is that of its method.</summary>
internal static class LogMessages
{
    public static IReadOnlyList<(string Name, LoggerMessageAttribute Attribute)> All { get; } =
        [.. typeof(FastCgiServerOptions).Assembly.GetTypes()
            .SelectMany(static type => type.GetMethods(
                BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic
                    | BindingFlags.DeclaredOnly))
            .Where(static method => method.IsDefined(typeof(LoggerMessageAttribute)))
            .Select(static method => (method.Name, method.GetCustomAttribute<LoggerMessageAttribute>()!))];
}
