using System.Numerics;

namespace FastCgi.AspNetCore.Execution;

/// <summary>Hashes of a path that ignore numbers and identifiers, such as GUIDs: they tell handlers apart.</summary>
internal readonly struct PathKey
{
    // A segment of at least this length that contains a digit is data, not a word of a route.
    private const int LongSegment = 16;

    // So is a segment with at least this many numbers: words rarely alternate between letters and digits.
    private const int ManyNumbers = 3;

    // v1, q10, mp3 are words.
    private const int ShortWord = 3;

    private const uint Identity = 0x80000000;
    private const uint Multiplier = 0x9E3779B1;

    private static readonly SearchValues<char> s_digits = SearchValues.Create("0123456789");

    private readonly string? _path;

    public PathKey(string? path)
    {
        _path = path;
        Own = Compute(path);
    }

    /// <summary>Whether there is a path. The predictor learns nothing from a request without one.</summary>
    public bool IsPath => _path is not null;
    public int Own { get; }

    /// <summary>The key of all paths that differ only in the last segment, such as <c>/articles/{title}</c>.</summary>
    public int Siblings
        => _path is null ? 0 : (int)Mix(Identity, (uint)Compute(_path.AsSpan(0, _path.LastIndexOf('/') + 1)));

    private static int Compute(ReadOnlySpan<char> path)
    {
        if (path.IsEmpty)
            return 0;
        // Most hot paths have no digit, so they are hashed in one call.
        if (!path.ContainsAny(s_digits))
            return string.GetHashCode(path, StringComparison.Ordinal);

        var hash = 0u;
        foreach (var segment in path.Split('/'))
            hash = Mix(MixSegment(hash, path[segment]), '/');
        return (int)(hash ^ (hash >> 15));
    }

    private static uint MixSegment(uint hash, ReadOnlySpan<char> segment)
    {
        if (segment.Length <= ShortWord && !segment.IsEmpty && char.IsAsciiLetter(segment[0]))
            return Mix(hash, (uint)string.GetHashCode(segment, StringComparison.Ordinal));

        var before = hash;
        var numbers = 0;
        var wasDigit = false;
        foreach (var c in segment)
        {
            var isDigit = char.IsAsciiDigit(c);
            if (!isDigit)
                hash = Mix(hash, c);
            else if (!wasDigit)
                hash = Mix(hash, Identity);
            numbers += isDigit && !wasDigit ? 1 : 0;
            wasDigit = isDigit;
        }

        var isIdentity = numbers >= ManyNumbers || (numbers > 0 && segment.Length >= LongSegment);
        return isIdentity ? Mix(before, Identity) : hash;
    }

    private static uint Mix(uint hash, uint value) => (BitOperations.RotateLeft(hash, 5) ^ value) * Multiplier;
}
