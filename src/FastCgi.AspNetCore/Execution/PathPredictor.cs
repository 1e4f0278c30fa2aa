namespace FastCgi.AspNetCore.Execution;

/// <summary>The expected behavior of the handler of a path.</summary>
/// <param name="IsKnown">Whether a request for this path has returned, not only for similar ones.</param>
/// <param name="IsSure">
/// Whether the last calls agreed, at least that they slept. If not, the next call must be measured.
/// </param>
/// <param name="Sleeps">Whether it is likely to keep its thread asleep.</param>
/// <param name="Microseconds">How long it is likely to keep its thread.</param>
internal readonly record struct Prediction(bool IsKnown, bool IsSure, bool Sleeps, int Microseconds)
{
    /// <summary>A shorter request runs where it was received: waking another thread would take about as long.</summary>
    public const int ShortMicroseconds = 20;

    // Some calls of a path that is often long may be short.
    private const int LongMicroseconds = 250;

    /// <summary>Whether the handler is likely to return before another thread could be woken.</summary>
    public bool IsShort => !Sleeps && Microseconds < ShortMicroseconds;

    public bool IsLong => Microseconds >= LongMicroseconds;
}

/// <summary>Predicts how long the handler of a path keeps its thread, from its previous requests.</summary>
/// <remarks>
/// Tables of small counters, as in the branch predictor of a processor: a race or a shared entry costs a wrong
/// prediction. A new path is expected to behave like those that differ only in the last segment, so it stalls no loop.
/// </remarks>
internal sealed class PathPredictor
{
    private const int Size = 4_096;
    private const int ShortTime = Prediction.ShortMicroseconds;

    private readonly int[] _own = new int[Size];
    private readonly int[] _siblings = new int[Size];

    public Prediction Predict(PathKey path)
    {
        var own = new Entry(_own[Index(path.Own)], path.Own);
        if (own.IsKnown)
            return own.ToPrediction(isKnown: true);

        return new Entry(_siblings[Index(path.Siblings)], path.Siblings).ToPrediction(isKnown: false);
    }

    public void OnMeasured(PathKey path, CallCost cost)
    {
        ref var place = ref _own[Index(path.Own)];
        var own = new Entry(place, path.Own);
        if (!own.IsKnown)
            LearnSimilar(path, cost);
        // Clients can send any number of unique paths, which must not displace frequent ones, nor lock them out.
        var other = new Entry(place);
        if (!own.IsKnown && other.IsUnusual && cost is { IsAsleep: not true, Microseconds: < ShortTime })
        {
            other.Fade();
            Store(ref place, other);
            return;
        }

        own.Learn(cost);
        Store(ref place, own);
    }

    /// <summary>Records that a request stalled a loop by sleeping, which is expensive.</summary>
    public void OnStalled(PathKey path)
    {
        ref var place = ref _own[Index(path.Own)];
        var own = new Entry(place, path.Own);
        own.LearnStall();
        Store(ref place, own);
        LearnSimilar(path, new CallCost(0, IsAsleep: true));
    }

    /// <summary>Records that a call that was not measured took unexpectedly long.</summary>
    public void OnSurprise(PathKey path)
    {
        ref var place = ref _own[Index(path.Own)];
        var own = new Entry(place, path.Own);
        own.Doubt();
        Store(ref place, own);
    }

    private void LearnSimilar(PathKey path, CallCost cost)
    {
        ref var place = ref _siblings[Index(path.Siblings)];
        var siblings = new Entry(place, path.Siblings);
        siblings.Learn(cost);
        Store(ref place, siblings);
    }

    // Writes only changed entries: all threads share the tables.
    private static void Store(ref int place, Entry entry)
    {
        if (place != entry.Value)
            place = entry.Value;
    }

    private static int Index(int key) => key & (Size - 1);

    /// <summary>An entry of a table: half of the key, two flags, a counter of two bits, and a time.</summary>
    private struct Entry
    {
        // The positions of the counter and the flags. The time is below.
        private const int Asleep = 10;
        private const int MaxTime = (1 << Asleep) - 1;
        private const int Known = 1 << 12;
        private const int Doubtful = 1 << 13;
        private const int Surely = 3;
        private const int Likely = 2;

        // A longer time weighs less, because a rare long call says little about the next.
        private const int WeightOfShorter = 2;
        private const int WeightOfLonger = 4;

        public Entry(int value) => Value = value;

        /// <summary>Gets the entry of a key; an empty one if another key uses the slot.</summary>
        public Entry(int value, int key)
        {
            var tag = key & ~ushort.MaxValue;
            Value = (value & ~ushort.MaxValue) == tag ? value : tag;
        }

        public int Value { get; private set; }

        public readonly bool IsKnown => (Value & Known) != 0;
        public readonly bool IsUnusual => IsKnown && (Time >= ShortTime || Count > 0);
        private readonly int Time => Value & MaxTime;
        private readonly int Count => (Value >> Asleep) & Surely;

        public readonly Prediction ToPrediction(bool isKnown)
        {
            var isSure = isKnown && (Count == Surely || (Count == 0 && (Value & Doubtful) == 0));
            return new Prediction(isKnown, isSure, Count >= Likely, Time);
        }

        public void Learn(CallCost cost)
        {
            var measured = (int)Math.Min(cost.Microseconds, MaxTime);
            var difference = measured - Time;
            var change = difference / (difference > 0 ? WeightOfLonger : WeightOfShorter);
            // A difference that is smaller than the weight counts too.
            var time = IsKnown ? Time + change + Math.Sign(difference) : measured;
            // Compilation makes first calls long. The next ones are measured until they agree.
            var doubt = Math.Abs(difference) < ShortTime + (Time / 2) ? 0 : Doubtful;
            Value = (Value & ~(MaxTime | Doubtful)) | time | doubt | Known;
            if (cost.IsAsleep == true && Count < Surely)
                Value += 1 << Asleep;
            else if (cost.IsAsleep == false && Count > 0)
                Value -= 1 << Asleep;
        }

        public void LearnStall()
            => Value = (Value & ~(Surely << Asleep)) | (Likely << Asleep) | MaxTime | Known | Doubtful;

        public void Doubt() => Value |= Doubtful;

        /// <summary>Brings an entry that another path wants closer to one that may be replaced.</summary>
        public void Fade()
        {
            if (Time >= ShortTime)
                Value -= 1 + (Time / ShortTime);
            else
                Value -= 1 << Asleep;
        }
    }
}
