namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// Guesses which requests will keep their thread, as a processor guesses branches: a table of two-bit counters by a hash of the path.
/// Races and paths that share a place cost a wrong guess, and nothing else.
/// </summary>
internal sealed class SlowPathPredictor
{
    private const int Size = 4_096;
    private const byte Surely = 3;
    private const byte Likely = 2;

    private readonly byte[] _counters = new byte[Size];
    private bool _isLearned;

    /// <summary>Whether any path was ever found slow.</summary>
    public bool IsLearned => Volatile.Read(ref _isLearned);

    /// <summary>Whether requests of a path are likely to keep their thread.</summary>
    public bool IsSlow(int pathHash) => _counters[pathHash & (Size - 1)] >= Likely;

    /// <summary>A request of a path has kept the thread of a loop.</summary>
    public void OnLoopKept(int pathHash)
    {
        _counters[pathHash & (Size - 1)] = Surely;
        Volatile.Write(ref _isLearned, true);
    }

    /// <summary>A request of a path that was guessed slow has run.</summary>
    public void OnExecuted(int pathHash, bool hasKeptThread)
    {
        ref var counter = ref _counters[pathHash & (Size - 1)];
        if (hasKeptThread)
            counter = Surely;
        else if (counter > 0)
            counter--;
    }
}
