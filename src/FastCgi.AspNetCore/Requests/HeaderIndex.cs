using System.Numerics;
using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Finds the headers among the params of a request. It has four bytes for each, outside the managed heap, of the offset of the pair
/// and as many bits of a hash of its name as are left. A mutable struct: keep it in a field, do not copy it.
/// </summary>
internal unsafe struct HeaderIndex
{
    // More than a browser sends.
    private const int MaxOnStack = 64;

    // One pointer, because each request that waits has the field.
    private Table* _table;

    /// <summary>Whether it is built, so that it has memory.</summary>
    public readonly bool IsBuilt => _table is not null;

    /// <summary>Builds the index, unless it is built.</summary>
    /// <param name="parameters">The params, all of them.</param>
    public void Build(ReadOnlySpan<byte> parameters)
    {
        if (_table is not null)
            return;

        var offsetBits = BitOperations.Log2((uint)parameters.Length) + 1;
        Span<uint> entries = stackalloc uint[MaxOnStack];
        var count = Fill(parameters, entries, offsetBits, out var occurring);
        _table = (Table*)NativeMemory.Alloc((nuint)sizeof(Table) + ((nuint)count * sizeof(uint)));
        *_table = new Table { Occurring = occurring, Count = count, OffsetBits = offsetBits };
        if (count <= MaxOnStack)
            entries[..count].CopyTo(GetEntries(_table));
        else
            Fill(parameters, GetEntries(_table), offsetBits, out _);
    }

    /// <summary>Finds the next pair that may be the header with this hash: the caller compares the names. The index is built.</summary>
    /// <param name="hash">The hash of the header's name.</param>
    /// <param name="position">Where to go on; 0 at first.</param>
    /// <param name="offset">The offset of the pair in the params.</param>
    public readonly bool TryFind(uint hash, ref int position, out int offset)
    {
        offset = -1;
        if ((_table->Occurring & GetBit(hash)) == 0)
            return false;

        var hashMask = uint.MaxValue << _table->OffsetBits;
        var entries = GetEntries(_table);
        for (; position < entries.Length; position++)
        {
            if (((entries[position] ^ hash) & hashMask) != 0)
                continue;

            offset = (int)(entries[position++] & ~hashMask);
            return true;
        }

        return false;
    }

    /// <summary>Frees the memory.</summary>
    public void Clear()
    {
        NativeMemory.Free(_table);
        _table = null;
    }

    /// <returns>The number of headers, of which as many are in <paramref name="entries"/> as fit.</returns>
    private static int Fill(ReadOnlySpan<byte> parameters, Span<uint> entries, int offsetBits, out ulong occurring)
    {
        var count = 0;
        occurring = 0;
        var reader = new NameValuePairReader(parameters);
        for (var offset = 0; reader.TryRead(out var name, out _); offset = reader.Offset)
        {
            if (!HeaderNames.TryHashVariable(name, out var hash))
                continue;

            if (count < entries.Length)
                entries[count] = (hash & (uint.MaxValue << offsetBits)) | (uint)offset;
            occurring |= GetBit(hash);
            count++;
        }

        return count;
    }

    private static Span<uint> GetEntries(Table* table) => new(table + 1, table->Count);

    private static ulong GetBit(uint hash) => 1UL << (int)(hash >> 26);

    /// <summary>What stands in front of the entries.</summary>
    private struct Table
    {
        /// <summary>One bit for each value of the hash's top six bits that occurs: most headers that are absent are not looked for any further.</summary>
        public ulong Occurring;

        public int Count;

        public int OffsetBits;
    }
}
