namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>The internal state of a connection as a number. Small counts are exact, large ones are grouped.</summary>
internal static class ConnectionState
{
    public static ulong Get(FastCgiConnection connection)
    {
        using var scope = connection.EnterLock();
        ref var inside = ref scope.State;
        var state = (ulong)inside.Lifetime.Phase;
        state = (state * 8) + Shrink(inside.Requests.Count);
        state = (state * 8) + Shrink(inside.Requests.Values.Count(static request => !request.HasAllParameters));
        state = (state * 8) + Shrink(UnreturnedCount(connection));
        state = (state * 8) + Shrink(inside.Output.Queued.Count(static response => response.IsDetached));
        state = (state * 2) + (inside.PartialContent.Length > 0 ? 1UL : 0);
        state = (state * 2) + (inside.IsMultiplexed ? 1UL : 0);
        state = (state * 2) + (connection.IsReceivePaused ? 1UL : 0);
        return (state * 2) + (InputComplete(ref inside.Lifetime) == true ? 1UL : 0);
    }

    /// <summary>Whether all requests are complete, so that the server can close without waiting.</summary>
    public static bool IsInputComplete(FastCgiConnection connection)
        => InputComplete(ref GuardedState.Of(connection).Lifetime) == true;

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isInputComplete")]
    private static extern ref bool? InputComplete(ref ConnectionLifetime lifetime);

    private static ulong Shrink(int count) => count switch
    {
        <= 4 => (ulong)Math.Max(count, 0),
        < 100 => 5,
        < 200 => 6,
        _ => 7,
    };

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_unreturnedCount")]
    private static extern ref int UnreturnedCount(FastCgiConnection connection);
}
