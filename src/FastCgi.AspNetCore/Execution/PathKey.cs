using System.Numerics;

namespace FastCgi.AspNetCore.Execution;

/// <summary>Hashes that are equal for paths that most likely have the same handler: identifiers (digits, GUIDs, hexadecimal and mixed) are ignored.</summary>
internal readonly struct PathKey
{
    // A segment this long that has a digit is data, not a word of a route.
    private const int LongSegment = 16;

    // A token of hexadecimal digits this long is a number; a shorter one may be a word.
    private const int LongHex = 8;

    // v1, q10, mp3 are words.
    private const int ShortWord = 3;

    // Words do not alternate this often between letters and digits.
    private const int MixedChanges = 3;

    private const uint Identity = 0x80000000;
    private const uint Multiplier = 0x9E3779B1;

    private static readonly SearchValues<char> s_digits = SearchValues.Create("0123456789");

    private readonly string? _path;

    public PathKey(string? path)
    {
        _path = path;
        Own = Compute(path);
    }

    /// <summary>Whether there is a path. Nothing is learned from a request without one.</summary>
    public bool IsPath => _path is not null;
    public int Own { get; }

    /// <summary>The key of all paths that differ only in the last segment: <c>/articles/{title}</c> has ever-new paths. Computed on demand.</summary>
    public int Siblings => _path is null ? 0 : (int)Mix(Identity, (uint)Compute(_path.AsSpan(0, _path.LastIndexOf('/') + 1)));

    // Most hot paths have no digit, so they are hashed in one call.
    private static int Compute(ReadOnlySpan<char> path)
        => path.IsEmpty ? 0 : path.ContainsAny(s_digits) ? (int)ComputeFolded(path) : string.GetHashCode(path, StringComparison.Ordinal);

    private static uint ComputeFolded(ReadOnlySpan<char> path)
    {
        var hash = 0u;
        while (!path.IsEmpty)
        {
            var length = path[1..].IndexOf('/') + 1;
            var segment = length == 0 ? path : path[..length];
            path = path[segment.Length..];
            hash = Mix(hash, segment[0]);
            hash = MixSegment(hash, segment[1..]);
        }

        return hash ^ (hash >> 15);
    }

    private static uint MixSegment(uint hash, ReadOnlySpan<char> segment)
    {
        if (IsIdentity(segment))
            return Mix(hash, Identity);

        var isWord = segment.Length <= ShortWord && !segment.IsEmpty && char.IsAsciiLetter(segment[0]);
        var wasDigit = false;
        foreach (var c in segment)
        {
            var isDigit = char.IsAsciiDigit(c) && !isWord;
            if (!isDigit)
                hash = Mix(hash, c);
            else if (!wasDigit)
                hash = Mix(hash, Identity);
            wasDigit = isDigit;
        }

        return hash;
    }

    private static bool IsIdentity(ReadOnlySpan<char> segment)
    {
        var digits = 0;
        var changes = 0;
        var hasOthers = false;
        var wasDigit = false;
        for (var i = 0; i < segment.Length; i++)
        {
            var isDigit = char.IsAsciiDigit(segment[i]);
            digits += isDigit ? 1 : 0;
            changes += i > 0 && isDigit != wasDigit ? 1 : 0;
            hasOthers |= !char.IsAsciiHexDigit(segment[i]) && segment[i] != '-';
            wasDigit = isDigit;
        }

        return digits > 0
            && (segment.Length >= LongSegment || digits == segment.Length || changes >= MixedChanges || (!hasOthers && segment.Length >= LongHex));
    }

    private static uint Mix(uint hash, uint value) => (BitOperations.RotateLeft(hash, 5) ^ value) * Multiplier;
}
