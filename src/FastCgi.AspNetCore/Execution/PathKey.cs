using System.Buffers;
using System.Numerics;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Numbers that are the same for paths that most likely have the same handler: what looks like an identity in a path (digits, GUIDs,
/// hexadecimal and mixed tokens) does not count.
/// </summary>
internal readonly struct PathKey
{
    // A segment of this length with a digit in it is data and no word of a route.
    private const int LongSegment = 16;

    // From this length on a token of hexadecimal digits is a number; shorter ones may be words.
    private const int LongHex = 8;

    // v1, q10, mp3 are words.
    private const int ShortWord = 3;

    // Letters and digits change so often only in tokens that nobody has to read.
    private const int MixedChanges = 3;

    private const uint Identity = 0x80000000;
    private const uint Multiplier = 0x9E3779B1;

    private static readonly SearchValues<char> s_digits = SearchValues.Create("0123456789");

    private readonly string? _path;

    /// <summary>The key of a path; <see langword="null"/> where there is none.</summary>
    public PathKey(string? path)
    {
        _path = path;
        Own = Compute(path);
    }

    /// <summary>Whether there is a path: what a request without one does tells nothing of others.</summary>
    public bool IsPath => _path is not null;

    /// <summary>The key of the path itself.</summary>
    public int Own { get; }

    /// <summary>
    /// The key of all paths that differ in their last segment: no list of routes is known here, and <c>/articles/{title}</c> has ever new
    /// paths that nothing tells from pages. Computed when it is asked for, which is seldom.
    /// </summary>
    public int Siblings => _path is null ? 0 : (int)Mix(Identity, (uint)Compute(_path.AsSpan(0, _path.LastIndexOf('/') + 1)));

    private static int Compute(ReadOnlySpan<char> path)
    {
        if (path.IsEmpty)
            return 0;

        // Most paths of hot handlers have no digit, and are not looked at one character after another.
        return path.ContainsAny(s_digits) ? (int)ComputeFolded(path) : string.GetHashCode(path, StringComparison.Ordinal);
    }

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

        return digits > 0 && (segment.Length >= LongSegment || digits == segment.Length || changes >= MixedChanges || (!hasOthers && segment.Length >= LongHex));
    }

    private static uint Mix(uint hash, uint value) => (BitOperations.RotateLeft(hash, 5) ^ value) * Multiplier;
}
