using System.Security.Cryptography;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>Reproducible bodies without repetition, so that a lost, duplicated, or swapped piece is detected.</summary>
internal static class Content
{
    public const int LargeLength = 20 * 1024 * 1024;

    // Most uploads and downloads use it, and generating it takes longer than sending it.
    private static readonly Lazy<byte[]> s_large = new(static () => Draw(LargeLength));
    private static readonly Lazy<string> s_largeHash = new(
        static () => Convert.ToHexString(SHA256.HashData(s_large.Value)));

    /// <summary>A shared body. Callers must not change it.</summary>
    public static byte[] Create(int length) => length == LargeLength ? s_large.Value : Draw(length);

    public static string Hash(byte[] bytes)
        => bytes.Length == LargeLength && bytes == s_large.Value
            ? s_largeHash.Value
            : Convert.ToHexString(SHA256.HashData(bytes));

    public static async Task<string> HashAsync(Stream stream)
        => Convert.ToHexString(await SHA256.HashDataAsync(stream));

    private static byte[] Draw(int length)
    {
        var bytes = new byte[length];
        new Random(length).NextBytes(bytes);
        return bytes;
    }
}
