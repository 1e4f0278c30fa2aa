namespace FastCgi.AspNetCore.Execution;

/// <summary>The expected behavior of the handler of a path.</summary>
/// <param name="IsKnown">Whether a request for this path has returned, not only for similar ones.</param>
/// <param name="Blocks">Whether it is likely to keep its thread for milliseconds.</param>
/// <param name="Microseconds">How long it is likely to keep its thread.</param>
internal readonly record struct Prediction(bool IsKnown, bool Blocks, int Microseconds);

/// <summary>Predicts how long the handler of a path keeps its thread, from its previous requests.</summary>
/// <remarks>
/// Tables of small counters, as in the branch predictor of a processor: a race or a shared entry costs a wrong
/// prediction. A new path is expected to behave like those that differ only in the last segment, so it stalls no loop.
/// </remarks>
internal sealed class PathPredictor
{
    private const int Size = 4_096;

    private readonly int[] _own = new int[Size];
    private readonly int[] _siblings = new int[Size];

    public Prediction Predict(PathKey path)
    {
        var own = new Entry(_own[Index(path.Own)], path.Own);
        if (own.IsKnown)
            return own.ToPrediction(isKnown: true);

        return new Entry(_siblings[Index(path.Siblings)], path.Siblings).ToPrediction(isKnown: false);
    }

    /// <summary>Learns from a handler that returned to its caller.</summary>
    /// <param name="microseconds">How long it kept the thread.</param>
    /// <param name="hasBlocked">Whether it kept the thread for milliseconds; null if not measured.</param>
    public void OnReturned(PathKey path, long microseconds, bool? hasBlocked)
    {
        ref var place = ref _own[Index(path.Own)];
        var own = new Entry(place, path.Own);
        var isNew = !own.IsKnown;
        // Clients can send any number of unique paths, which must not displace frequent ones.
        if (isNew && new Entry(place).IsUnusual && hasBlocked != true && microseconds < Entry.Unusual)
            return;

        own.Learn(microseconds, hasBlocked);
        Store(ref place, own);
        if (isNew)
        {
            ref var similar = ref _siblings[Index(path.Siblings)];
            var siblings = new Entry(similar, path.Siblings);
            siblings.Learn(microseconds, hasBlocked);
            Store(ref similar, siblings);
        }
    }

    /// <summary>Records that a request stalled a loop, which is expensive.</summary>
    public void OnStalled(PathKey path)
    {
        ref var place = ref _own[Index(path.Own)];
        var own = new Entry(place, path.Own);
        own.LearnStall();
        Store(ref place, own);
        ref var similar = ref _siblings[Index(path.Siblings)];
        var siblings = new Entry(similar, path.Siblings);
        siblings.Learn(0, hasBlocked: true);
        Store(ref similar, siblings);
    }

    // Writes only changed entries: all threads share the tables.
    private static void Store(ref int place, Entry entry)
    {
        if (place != entry.Value)
            place = entry.Value;
    }

    private static int Index(int key) => key & (Size - 1);

    /// <summary>An entry of a table: half of the key, a counter of two bits, and a time.</summary>
    private struct Entry
    {
        /// <summary>The shortest time, in microseconds, that makes a path worth remembering.</summary>
        public const int Unusual = 20;

        // The positions of the counter and the flag. The time is below.
        private const int Blocks = 10;
        private const int Known = 1 << 12;
        private const int MaxTime = (1 << Blocks) - 1;
        private const int Surely = 3;
        private const int Likely = 2;

        // A longer time weighs less, and a much longer one counts in part: an interruption must not look like work.
        private const int WeightOfShorter = 4;
        private const int WeightOfLonger = 8;
        private const int MaxGrowth = 2;

        public Entry(int value) => Value = value;

        /// <summary>Gets the entry of a key; an empty one if another key uses the slot.</summary>
        public Entry(int value, int key)
        {
            var tag = key & ~ushort.MaxValue;
            Value = (value & ~ushort.MaxValue) == tag ? value : tag;
        }

        public int Value { get; private set; }

        public readonly bool IsKnown => (Value & Known) != 0;
        public readonly bool IsUnusual => IsKnown && (Time >= Unusual || Count > 0);
        private readonly int Time => Value & MaxTime;
        private readonly int Count => (Value >> Blocks) & Surely;

        public readonly Prediction ToPrediction(bool isKnown) => new(isKnown, Count >= Likely, Time);

        public void Learn(long microseconds, bool? hasBlocked)
        {
            var difference = Math.Min(microseconds, MaxGrowth * (Time + Unusual)) - Time;
            var change = difference / (difference > 0 ? WeightOfLonger : WeightOfShorter);
            // A difference that is smaller than the weight counts too.
            var time = IsKnown ? Time + change + Math.Sign(difference) : microseconds;
            Value = (Value & ~MaxTime) | (int)Math.Min(time, MaxTime) | Known;
            if (hasBlocked == true && Count < Surely)
                Value += 1 << Blocks;
            else if (hasBlocked == false && Count > 0)
                Value -= 1 << Blocks;
        }

        public void LearnStall() => Value |= Known | Surely << Blocks | MaxTime;
    }
}
