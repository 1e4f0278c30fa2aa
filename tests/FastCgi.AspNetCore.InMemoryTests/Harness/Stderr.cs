namespace FastCgi.AspNetCore.InMemoryTests;

internal static class Stderr
{
    public static TextWriter Of(HttpContext context)
        => context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;

    /// <summary>The content of each STDERR record; that of the last one, which ends the stream, is empty.</summary>
    public static List<string> Read(IEnumerable<WireRecord> records)
        => [.. records.Where(static record => record.Type == RecordBytes.Stderr).Select(
            static record => Encoding.UTF8.GetString(record.Content))];
}
