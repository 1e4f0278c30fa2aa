using System.Numerics;
using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Where the headers are among the params of a request: four bytes for each, outside the managed heap, of the offset of the pair and
/// as many bits of a hash of its name as are left. Built when the first header is asked for. A mutable struct: keep it in a field, do
/// not copy it.
/// </summary>
internal unsafe struct HeaderIndex
{
    // More than a browser sends.
    private const int MaxOnStack = 64;

    // One bit for each value of the hash's top six bits that occurs: most headers that are absent are not looked for any further.
    private ulong _occurring;
    private uint* _entries;
    private int _count;
    private byte _offsetBits;
    private bool _isBuilt;

    /// <summary>Builds the index, unless it is built.</summary>
    /// <param name="parameters">The params, all of them.</param>
    public void Build(ReadOnlySpan<byte> parameters)
    {
        if (_isBuilt)
            return;

        _offsetBits = (byte)(BitOperations.Log2((uint)parameters.Length) + 1);
        Span<uint> entries = stackalloc uint[MaxOnStack];
        _count = Fill(parameters, entries);
        if (_count > 0)
        {
            _entries = (uint*)NativeMemory.Alloc((nuint)_count, sizeof(uint));
            var all = new Span<uint>(_entries, _count);
            if (_count <= MaxOnStack)
                entries[.._count].CopyTo(all);
            else
                Fill(parameters, all);
        }

        _isBuilt = true;
    }

    /// <summary>Finds the next pair that may be the header with this hash: the caller compares the names.</summary>
    /// <param name="hash">The hash of the header's name.</param>
    /// <param name="position">Where to go on in the index; 0 at first.</param>
    /// <param name="offset">The offset of the pair in the params.</param>
    public readonly bool TryFind(uint hash, ref int position, out int offset)
    {
        offset = -1;
        if ((_occurring & GetBit(hash)) == 0)
            return false;

        var hashMask = uint.MaxValue << _offsetBits;
        var wanted = hash & hashMask;
        for (; position < _count; position++)
        {
            var entry = _entries[position];
            if ((entry & hashMask) != wanted)
                continue;

            position++;
            offset = (int)(entry & ~hashMask);
            return true;
        }

        return false;
    }

    /// <summary>Frees the memory.</summary>
    public void Clear()
    {
        if (!_isBuilt)
            return;

        NativeMemory.Free(_entries);
        this = default;
    }

    /// <returns>The number of headers, of which as many are in <paramref name="entries"/> as fit.</returns>
    private int Fill(ReadOnlySpan<byte> parameters, Span<uint> entries)
    {
        var count = 0;
        var reader = new NameValuePairReader(parameters);
        for (var offset = 0; reader.TryRead(out var name, out _); offset = reader.Offset)
        {
            if (!HeaderNames.TryHashVariable(name, out var hash))
                continue;

            if (count < entries.Length)
                entries[count] = (hash & (uint.MaxValue << _offsetBits)) | (uint)offset;
            _occurring |= GetBit(hash);
            count++;
        }

        return count;
    }

    private static ulong GetBit(uint hash) => 1UL << (int)(hash >> 26);
}
