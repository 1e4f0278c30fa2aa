using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>Finds the oldest of many requests: they are described behind that, so that those that are not shown cost next to nothing.</summary>
/// <param name="maxCount">How many to find.</param>
internal sealed class OldestRequests(int maxCount)
{
    // The youngest first, so that it makes room for an older one.
    private readonly PriorityQueue<(FastCgiConnection Connection, ushort Id, uint Sequence), long> _oldest = new(Comparer<long>.Create(static (left, right) => right.CompareTo(left)));

    /// <summary>Takes one into account.</summary>
    public void Add(FastCgiConnection connection, ushort id, uint sequence, long beganAt)
    {
        if (_oldest.Count < maxCount)
            _oldest.Enqueue((connection, id, sequence), beganAt);
        else
            _oldest.EnqueueDequeue((connection, id, sequence), beganAt);
    }

    /// <summary>Describes those that are not over since, the oldest first.</summary>
    public IReadOnlyList<RequestDescription> Describe()
    {
        var descriptions = new List<RequestDescription>(_oldest.Count);
        while (_oldest.TryDequeue(out var found, out _))
        {
            if (found.Connection.DescribeRequest(found.Id, found.Sequence) is { } description)
                descriptions.Add(description);
        }

        descriptions.Reverse();
        return descriptions;
    }
}
