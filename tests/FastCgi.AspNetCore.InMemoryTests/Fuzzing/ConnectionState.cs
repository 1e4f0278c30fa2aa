namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>What a connection is like inside, as a number: small counts as they are, large ones alike.</summary>
internal static class ConnectionState
{
    public static ulong Get(FastCgiConnection connection)
    {
        var state = (ulong)Lifetime(connection).Phase;
        state = (state * 8) + Shrink(Requests(connection).Count);
        state = (state * 8) + Shrink(HalfOpenCount(connection));
        state = (state * 8) + Shrink((int)Uses(connection).LingeringCount);
        using (var scope = connection.EnterLock())
            state = (state * 8) + Shrink(connection.Output.CountAnswers(scope));
        state = (state * 2) + (Content(connection).IsBegun ? 1UL : 0);
        state = (state * 2) + (IsShared(connection) ? 1UL : 0);
        state = (state * 2) + (connection.IsReceivePaused ? 1UL : 0);
        return (state * 2) + (IsInputComplete(connection) ? 1UL : 0);
    }

    /// <summary>Whether the server expects nothing more of the requests that came, so that it can close without waiting.</summary>
    public static bool IsInputComplete(FastCgiConnection connection) => InputComplete(ref Lifetime(connection)) == true;

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isInputComplete")]
    private static extern ref bool? InputComplete(ref ConnectionLifetime lifetime);

    private static ulong Shrink(int count) => count <= 4 ? (ulong)Math.Max(count, 0) : count < 100 ? 5u : count < 200 ? 6u : 7u;

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lifetime")]
    private static extern ref ConnectionLifetime Lifetime(FastCgiConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_requests")]
    private static extern ref RequestTable Requests(FastCgiConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_partialContent")]
    private static extern ref RecordContent Content(FastCgiConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_halfOpenCount")]
    private static extern ref int HalfOpenCount(FastCgiConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_uses")]
    private static extern ref ConnectionUses Uses(FastCgiConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isShared")]
    private static extern ref bool IsShared(FastCgiConnection connection);
}
