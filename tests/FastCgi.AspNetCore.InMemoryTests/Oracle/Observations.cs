namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

/// <summary>What an application saw of its server, as lines of text, so that two servers can be compared.</summary>
internal sealed class Observations
{
    /// <summary>What this server's message about a synchronous call says beyond Kestrel's.</summary>
    public const string WhereSynchronousIOIsAllowed =
        " It is FastCgi:AllowSynchronousIO in the configuration, and options.AllowSynchronousIO in UseFastCgi.";

    private readonly ConcurrentQueue<string> _lines = new();

    public IReadOnlyList<string> Lines => [.. _lines];

    public void Note(string what, object? value)
        => _lines.Enqueue(string.Create(CultureInfo.InvariantCulture, $"{what}: {value ?? "null"}"));

    /// <summary>Does something, and notes what is thrown.</summary>
    public void Try(string what, Action action)
    {
        try
        {
            action();
            Note(what, "done");
        }
        catch (Exception exception)
        {
            Note(what, Describe(exception));
        }
    }

    /// <summary>Does something, and notes what is thrown.</summary>
    public async Task TryAsync(string what, Func<Task> action)
    {
        try
        {
            await action();
            Note(what, "done");
        }
        catch (Exception exception)
        {
            Note(what, Describe(exception));
        }
    }

    /// <summary>
    /// An exception as its type and message. A type that only the server itself can name stands for the public one it
    /// extends.
    /// </summary>
    public static string Describe(Exception exception)
    {
        var type = exception.GetType();
        while (!type.IsVisible || type.Namespace!.Contains("Kestrel", StringComparison.Ordinal))
            type = type.BaseType!;

        // Where in the server's own source an object was disposed is not for applications, nor is the name of its
        // parameter; and a
        // message that says which key is missing, or where the setting is, is no worse.
        return exception switch
        {
            ObjectDisposedException => type.Name,
            ArgumentException => type.Name,
            KeyNotFoundException => type.Name,
            _ => $"{type.Name}: "
                + $"{exception.Message.Replace(WhereSynchronousIOIsAllowed, string.Empty, StringComparison.Ordinal)}",
        };
    }
}
