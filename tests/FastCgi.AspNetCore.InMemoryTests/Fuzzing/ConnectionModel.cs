namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// The required behavior of a connection for any bytes, if its application responds at once and reads nothing: which
/// requests begin, which of them end, and whether the connection is reset or closed. It is based on the specification
/// and the documents, and uses no code of the server.
/// </summary>
internal sealed class ConnectionModel
{
    private const int MaxOpen = 200;

    private readonly Dictionary<int, bool> _open = [];
    private readonly HashSet<int> _withAllParams = [];
    private readonly List<int> _ready = [];
    private readonly List<byte> _content = [];
    private readonly byte[] _header = new byte[8];
    private int _headerLength, _left, _padding;
    private bool _inRecord, _isStart, _isClosing, _hasBegun;

    /// <summary>How often END_REQUEST must have come for each id.</summary>
    public int[] Ends { get; } = new int[65_536];

    /// <summary>The ids that have an entry in <see cref="Ends"/>.</summary>
    public HashSet<int> Ids { get; } = [];

    public bool IsReset { get; private set; }

    /// <summary>Whether the connection is closed after its last answer.</summary>
    public bool IsClosed { get; private set; }

    /// <summary>Whether the peer speaks HTTP and gets a response in HTTP.</summary>
    public bool IsHttp { get; private set; }

    public int ValuesResults { get; private set; }

    public int UnknownTypes { get; private set; }

    /// <summary>Of the last record, for the feedback.</summary>
    public int LastType => _header[1];

    public void Clear()
    {
        foreach (var id in Ids)
            Ends[id] = 0;
        Ids.Clear();
        _open.Clear();
        _withAllParams.Clear();
        _ready.Clear();
        _headerLength = _left = _padding = ValuesResults = UnknownTypes = 0;
        _inRecord = _isClosing = _hasBegun = IsReset = IsClosed = IsHttp = false;
    }

    /// <summary>One receive, and the requests that it made ready.</summary>
    public void Receive(ReadOnlySpan<byte> bytes)
    {
        if (IsReset || IsClosed || IsHttp)
            return;

        if (!Parse(bytes))
            return;

        while (_ready.Count > 0)
        {
            var keeps = _open[_ready[0]];
            End(_ready[0]);
            // A web server that keeps the connection gets a record that announces the close.
            if (keeps && _isClosing && _open.Count == 0)
                ValuesResults++;
        }

        IsClosed = _isClosing && _open.Count == 0;
    }

    private bool Parse(ReadOnlySpan<byte> bytes)
    {
        while (true)
        {
            if (!_inRecord)
            {
                var skipped = Math.Min(_padding, bytes.Length);
                _padding -= skipped;
                bytes = bytes[skipped..];
                if (bytes.IsEmpty)
                    return true;
                if (_headerLength == 0 && bytes[0] != 1)
                    return Fail(isHttp: !_hasBegun && bytes[0] is >= (byte)'A' and <= (byte)'Z');

                while (_headerLength < 8 && !bytes.IsEmpty)
                {
                    _header[_headerLength++] = bytes[0];
                    bytes = bytes[1..];
                }

                if (_headerLength < 8)
                    return true;
                _headerLength = 0;
                _left = (_header[4] * 256) + _header[5];
                _inRecord = _isStart = true;
                _content.Clear();
            }

            if (_left > 0 && bytes.IsEmpty)
                return true;

            var taken = Math.Min(_left, bytes.Length);
            if (_header[1] is 1 or 9)
                _content.AddRange(bytes[..taken]);
            bytes = bytes[taken..];
            _left -= taken;
            if (_left == 0)
                (_inRecord, _padding) = (false, _header[6]);
            if (!(Id == 0 ? OnManagement(_left == 0) : OnRecord(
                _left == 0, isEmpty: _isStart && _left == 0 && taken == 0)))
                return Fail(isHttp: false);
            _isStart = false;
        }
    }

    private int Id => (_header[2] * 256) + _header[3];

    private bool Fail(bool isHttp)
    {
        (IsHttp, IsReset) = (isHttp, !isHttp);
        return false;
    }

    private bool OnManagement(bool isEnd)
    {
        switch (_header[1])
        {
            case >= 1 and <= 8:
                return false;
            case 9 when isEnd && ArePairs():
                ValuesResults++;
                return true;
            case 9:
                return !isEnd;
            case 0 or > 11 when isEnd:
                UnknownTypes++;
                return true;
            default:
                return true;
        }
    }

    private bool OnRecord(bool isEnd, bool isEmpty)
    {
        switch (_header[1])
        {
            case 1:
                return _header[4] == 0 && _header[5] == 8 && (!isEnd || OnBegin());
            case 2 when isEnd && _open.ContainsKey(Id):
                End(Id);
                break;
            case 4 when isEmpty && _open.ContainsKey(Id):
            case 5 when _open.ContainsKey(Id):
                if (_withAllParams.Add(Id))
                    _ready.Add(Id);
                break;
        }

        return true;
    }

    private bool OnBegin()
    {
        if (_open.ContainsKey(Id))
            return false;

        _hasBegun = true;
        if (_isClosing && _open.Count == 0)
            return true;

        var keeps = (_content[2] & 1) != 0;
        _open[Id] = keeps;
        // Only the Responder is served, and a limited number of refusals wait to be sent.
        if ((_content[0] * 256) + _content[1] != 1 || _open.Count > MaxOpen)
            End(Id);
        return true;
    }

    private void End(int id)
    {
        _isClosing |= !_open[id];
        _open.Remove(id);
        _withAllParams.Remove(id);
        _ready.Remove(id);
        Ids.Add(id);
        Ends[id]++;
    }

    private bool ArePairs()
    {
        for (var at = 0; at < _content.Count;)
        {
            long length = 0;
            for (var i = 0; i < 2; i++)
            {
                if (at >= _content.Count || (_content[at] >= 128 && at + 4 > _content.Count))
                    return false;
                if (_content[at] < 128)
                {
                    length += _content[at++];
                    continue;
                }

                length += ((_content[at] - 128) * 16_777_216L) + (
                    _content[at + 1] * 65_536) + (_content[at + 2] * 256) + _content[at + 3];
                at += 4;
            }

            if (at + length > _content.Count)
                return false;
            at += (int)length;
        }

        return true;
    }
}
