namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>
/// The choices of one run: those of a prefix, then always the first alternative, or random ones. The search is
/// depth-first: the next run changes the last choice that has an alternative left. The number of deviations from the
/// usual order is limited.
/// </summary>
internal sealed class Choices
{
    // On average, a random run deviates once in this many choices.
    private const int DrawnInterval = 8;

    private readonly List<int> _made = [];
    private readonly List<int> _counts = [];
    private int[] _prefix = [];
    private int _deviations;
    private Random? _random;

    /// <summary>The maximum number of choices of a run that deviate from the usual order.</summary>
    public int MaxDeviations { get; init; }

    /// <summary>The choices of this run.</summary>
    public IReadOnlyList<int> Made => _made;

    /// <summary>Begins a run with a prefix.</summary>
    /// <param name="random">Makes the other choices; <see langword="null"/> for the first alternative of each.</param>
    public void Begin(int[] prefix, Random? random = null)
    {
        _random = random;
        _prefix = prefix;
        _made.Clear();
        _counts.Clear();
        _deviations = 0;
    }

    /// <summary>Chooses a variant of the run. This does not count as a deviation.</summary>
    public int Vary(int count) => Make(count, _random?.Next(count) ?? 0);

    /// <summary>Chooses the actor that continues: 0 is the usual one.</summary>
    public int Deviate(int count)
    {
        var isBounded = _deviations >= MaxDeviations;
        var made = Make(
            isBounded ? 1 : count,
            isBounded || _random is null || _random.Next(DrawnInterval) != 0 ? 0 : _random.Next(count));
        if (made != 0)
            _deviations++;
        return made;
    }

    /// <summary>The prefix of the next run.</summary>
    /// <returns><see langword="null"/> if there is none.</returns>
    public int[]? Next()
    {
        for (var i = _made.Count - 1; i >= 0; i--)
        {
            if (_made[i] + 1 < _counts[i])
                return [.. _made.Take(i), _made[i] + 1];
        }

        return null;
    }

    private int Make(int count, int drawn)
    {
        var index = _made.Count;
        var made = index < _prefix.Length ? _prefix[index] : drawn;
        if (made >= count)
            throw new InvalidOperationException(
                $"Choice {index} of the schedule is {made}, but there are {count} only: the schedule is not of this "
                    + "code.");

        _made.Add(made);
        _counts.Add(count);
        return made;
    }
}
