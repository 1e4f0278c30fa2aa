namespace FastCgi.AspNetCore.Connections;

/// <summary>Names for connections: thirteen characters that no other connection of this process, or of the one before it, has.</summary>
internal static class ConnectionId
{
    private const string Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUV";

    private static long s_last = DateTime.UtcNow.Ticks;

    /// <summary>Makes the next name.</summary>
    public static string Next() => string.Create(13, Interlocked.Increment(ref s_last), static (text, value) =>
    {
        for (var i = text.Length - 1; i >= 0; i--)
        {
            text[i] = Digits[(int)(value & 31)];
            value >>= 5;
        }
    });
}
