namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// Keeps the inputs that lead to new states, so that they are mutated further. A state is a hash of the visible state
/// of the parser and the connection and, if the library is instrumented (<see cref="CodeCoverage"/>), of the code that
/// ran.
/// </summary>
internal sealed class StateFeedback(IEnumerable<byte[]> seeds)
{
    private const int MapBits = 1 << 20;
    private const int MaxInputs = 8_192;

    private readonly ulong[] _map = new ulong[MapBits / 64];
    private readonly List<byte[]> _inputs = [.. seeds];
    private bool _foundNew;

    public int StateCount { get; private set; }

    public int InputCount => _inputs.Count;

    public byte[] Choose(ref FuzzRandom random) => _inputs[random.Next(_inputs.Count)];

    public void Visit(ulong state)
    {
        var bit = (state * 0x9E37_79B9_7F4A_7C15) >> 44;
        if ((_map[bit / 64] & (1UL << (int)(bit % 64))) != 0)
            return;

        _map[bit / 64] |= 1UL << (int)(bit % 64);
        StateCount++;
        _foundNew = true;
    }

    /// <summary>Ends an input, and keeps it if it led to a new state.</summary>
    public void End(ReadOnlySpan<byte> input, ref FuzzRandom random)
    {
        CodeCoverage.VisitAll(this);
        if (!_foundNew)
            return;

        _foundNew = false;
        if (_inputs.Count < MaxInputs)
            _inputs.Add(input.ToArray());
        else
            _inputs[random.Next(_inputs.Count)] = input.ToArray();
    }
}
