namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>Damages record streams: bits, lengths, types, ids, and the set and order of records.</summary>
internal sealed class Mutator(int maxLength)
{
    private static readonly int[] s_lengths =
        [0, 1, 7, 8, 9, 127, 128, 255, 256, 4_096, 32_767, 32_768, 65_528, 65_535];
    private static readonly byte[] s_bytes =
        [0, 1, 2, 3, 4, 5, 8, 9, 12, 0x16, 0x7f, 0x80, 0xff, (byte)'G', (byte)'\r', (byte)'\n'];

    private readonly byte[] _bytes = new byte[maxLength];
    private readonly byte[] _scratch = new byte[maxLength];
    private readonly List<(int Start, int Length)> _records = [];
    private int _length;

    /// <summary>Combines an input with a part of another, and damages the result.</summary>
    /// <returns>The result, until the next call.</returns>
    public ReadOnlySpan<byte> Mutate(ReadOnlySpan<byte> input, ReadOnlySpan<byte> other, ref FuzzRandom random)
    {
        _length = Math.Min(input.Length, maxLength);
        input[.._length].CopyTo(_bytes);
        for (var count = 1 + random.Next(4); count > 0; count--)
            MutateOnce(other, ref random);
        return _bytes.AsSpan(0, _length);
    }

    private void MutateOnce(ReadOnlySpan<byte> other, ref FuzzRandom random)
    {
        FindRecords(_bytes.AsSpan(0, _length));
        if (_records.Count == 0 || random.Next(4) == 0)
        {
            MutateBytes(other, ref random);
            return;
        }

        var (start, length) = _records[random.Next(_records.Count)];
        var record = _bytes.AsSpan(start, length);
        switch (random.Next(9))
        {
            case 0:
                BinaryPrimitives.WriteUInt16BigEndian(
                    record[4..],
                    (ushort)(random.Next(3) == 0 ? random.Next(65_536) : s_lengths[random.Next(s_lengths.Length)]));
                break;
            case 1:
                record[6] = (byte)random.Next(256);
                break;
            case 2:
                record[1] = (byte)(random.Next(4) == 0 ? random.Next(256) : random.Next(13));
                break;
            case 3:
                BinaryPrimitives.WriteUInt16BigEndian(
                    record[2..], (ushort)(random.Next(4) == 0 ? random.Next(65_536) : random.Next(4)));
                break;
            case 4:
                record.CopyTo(_scratch);
                Insert(_records[random.Next(_records.Count)].Start, _scratch.AsSpan(0, length));
                break;
            case 5:
                Remove(start, length);
                break;
            case 6:
                record.CopyTo(_scratch);
                Remove(start, length);
                FindRecords(_bytes.AsSpan(0, _length));
                Insert(
                    _records.Count == 0 ? 0 : _records[random.Next(_records.Count)].Start, _scratch.AsSpan(0, length));
                break;
            case 7:
                InsertFromOther(other, start, ref random);
                break;
            default:
                // The role or the flags of a BEGIN_REQUEST, a length of a pair, or the first byte of a body.
                if (length > 8)
                    record[8 + random.Next(Math.Min(length - 8, 4))] = s_bytes[random.Next(s_bytes.Length)];
                break;
        }
    }

    private void MutateBytes(ReadOnlySpan<byte> other, ref FuzzRandom random)
    {
        var at = random.Next(_length + 1);
        switch (random.Next(6))
        {
            case 0 when at < _length:
                _bytes[at] ^= (byte)(1 << random.Next(8));
                break;
            case 1 when at < _length:
                _bytes[at] = s_bytes[random.Next(s_bytes.Length)];
                break;
            case 2:
                Remove(at, Math.Min(random.Next(16), _length - at));
                break;
            case 3:
                Insert(at, s_bytes.AsSpan(random.Next(s_bytes.Length), 1));
                break;
            case 4:
                _length = at;
                break;
            default:
                InsertFromOther(other, at, ref random);
                break;
        }
    }

    private void InsertFromOther(ReadOnlySpan<byte> other, int at, ref FuzzRandom random)
    {
        FindRecords(other);
        if (_records.Count == 0)
            return;

        var (start, length) = _records[random.Next(_records.Count)];
        Insert(at, other.Slice(start, length));
    }

    private void Insert(int at, ReadOnlySpan<byte> part)
    {
        if (_length + part.Length > maxLength)
            return;

        _bytes.AsSpan(at, _length - at).CopyTo(_bytes.AsSpan(at + part.Length));
        part.CopyTo(_bytes.AsSpan(at));
        _length += part.Length;
    }

    private void Remove(int at, int length)
    {
        _bytes.AsSpan(at + length, _length - at - length).CopyTo(_bytes.AsSpan(at));
        _length -= length;
    }

    private void FindRecords(ReadOnlySpan<byte> bytes)
    {
        _records.Clear();
        for (var at = 0; at + 8 <= bytes.Length && _records.Count < 256;)
        {
            var length = 8 + BinaryPrimitives.ReadUInt16BigEndian(bytes[(at + 4)..]) + bytes[at + 6];
            if (at + length > bytes.Length)
                return;

            _records.Add((at, length));
            at += length;
        }
    }
}
