namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

/// <summary>
/// An application's observations of its server, as lines of text, so that two servers can be compared.
/// </summary>
internal sealed class Observations
{
    /// <summary>The addition to Kestrel's message about a synchronous call.</summary>
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
        while (!type.IsVisible || type.Namespace!.Contains("Kestrel"))
            type = type.BaseType!;

        // Ignores the place in the server's source where an object was disposed, and the name of its parameter. A
        // message that also names the missing key or the setting counts as equal.
        return exception switch
        {
            ObjectDisposedException => type.Name,
            ArgumentException => type.Name,
            KeyNotFoundException => type.Name,
            _ => $"{type.Name}: "
                + $"{exception.Message.Replace(WhereSynchronousIOIsAllowed, string.Empty)}",
        };
    }
}
