namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// How long the fuzzers run. FASTCGI_FUZZ=long selects the long form; FASTCGI_FUZZ_SEED sets the seed, to explore
/// elsewhere or to repeat a failure, whose message names it.
/// </summary>
internal static class FuzzSettings
{
    public static bool IsLong { get; } = Environment.GetEnvironmentVariable("FASTCGI_FUZZ") == "long";

    public static ulong Seed { get; } = ulong.Parse(
        Environment.GetEnvironmentVariable("FASTCGI_FUZZ_SEED") ?? "20240617", CultureInfo.InvariantCulture);

    public static int Choose(int shortForm, int longForm) => IsLong ? longForm : shortForm;
}
