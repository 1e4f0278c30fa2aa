namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Reads the state of a connection without its lock, where a test must not wait or be counted.</summary>
internal static class GuardedState
{
    public static ref Streams.ConnectionState Of(FastCgiConnection connection)
        => ref Field<Streams.ConnectionState>.Of(GuardOf(connection));

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_state")]
    private static extern ref Guarded<Streams.ConnectionState> GuardOf(FastCgiConnection connection);

    private static class Field<T>
        where T : struct
    {
        [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_state")]
        public static extern ref T Of(Guarded<T> guarded);
    }
}

/// <summary>Uncorks responses as a test chooses.</summary>
internal sealed class ChosenDeadlines
{
    public Func<FastCgiResponse, bool>? TrySet { get; set; }

    public bool TrySetDeadline(FastCgiResponse response) => TrySet?.Invoke(response) ?? false;
}
