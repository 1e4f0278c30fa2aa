using System.Security.Cryptography;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>Bodies that are the same each time, and do not repeat, so that a lost, doubled or swapped piece shows.</summary>
internal static class Content
{
    public const int LargeLength = 20 * 1024 * 1024;

    public static byte[] Create(int length)
    {
        var bytes = new byte[length];
        new Random(length).NextBytes(bytes);
        return bytes;
    }

    public static string Hash(byte[] bytes) => Convert.ToHexString(SHA256.HashData(bytes));

    public static async Task<string> HashAsync(Stream stream) => Convert.ToHexString(await SHA256.HashDataAsync(stream));
}
