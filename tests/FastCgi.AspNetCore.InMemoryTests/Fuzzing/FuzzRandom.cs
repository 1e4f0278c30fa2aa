namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>Random numbers that are the same in every version of .NET and cheap to seed (SplitMix64).</summary>
internal struct FuzzRandom(ulong seed)
{
    private ulong _state = seed;

    public ulong Next()
    {
        var mixed = _state += 0x9E37_79B9_7F4A_7C15;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58_476D_1CE4_E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB;
        return mixed ^ (mixed >> 31);
    }

    /// <summary>A number from 0 to one less than the bound.</summary>
    public int Next(int bound) => (int)(Next() % (ulong)bound);

    /// <summary>The length of the next piece of a split stream: all of it, a few bytes, or some.</summary>
    public int NextPiece(int rest, int mode) => mode switch
    {
        0 => Math.Min(rest, 65_536),
        1 => Math.Min(rest, 1 + Next(12)),
        _ => Math.Min(rest, 1 + Next(Next(2) == 0 ? 40 : 3_000)),
    };
}

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
