using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <content>What is shown of the connection. Only who looks at the status pays for it.</content>
internal sealed partial class FastCgiConnection
{
    private string? _peer;

    /// <summary>What the connection has carried.</summary>
    public Totals GetTotals()
    {
        using (Output.EnterLock())
            return new Totals(1, _requestCount, _receivedLength, Output.SentLength);
    }

    /// <summary>Describes the connection.</summary>
    public ConnectionDescription Describe()
    {
        // It asks the system: once, and not with the lock held.
        var peer = _peer ??= _transport.DescribePeer();
        var id = Id;
        using (Output.EnterLock())
        {
            return new ConnectionDescription(
                id,
                peer,
                TimeSpan.FromSeconds(Math.Max(0, _manager.Second - _openedSecond)),
                _lifetime.Phase,
                _requestCount,
                _requests.Count,
                _isReceivePaused,
                _receivedLength,
                Output.SentLength);
        }
    }

    /// <summary>Adds the requests that are under way to those that somebody wants to know the oldest of.</summary>
    public void AddTo(OldestRequests oldest)
    {
        using (Output.EnterLock())
        {
            if (_requests.Count == 0)
                return;

            foreach (var request in _requests.ToList())
                oldest.Add(this, request.Id, request.Sequence, request.BeganAt);
        }
    }

    /// <summary>Describes a request.</summary>
    /// <returns><see langword="null"/> if it is over.</returns>
    public RequestDescription? DescribeRequest(ushort id, uint sequence)
    {
        using (Output.EnterLock())
            return _requests.Find(id) is { } request && request.Sequence == sequence ? request.Describe(_server.Time.GetTimestamp()) : null;
    }

    /// <summary>Reports the requests that have taken too long, once each. With the lock held.</summary>
    private void FindSlow(TimeSpan threshold, ref ReadyRequests ready)
    {
        var now = _server.Time.GetTimestamp();
        foreach (var request in _requests.ToList())
        {
            if (!request.HasAllParameters || request.IsReportedSlow || _server.Time.GetElapsedTime(request.BeganAt, now) < threshold)
                continue;

            request.IsReportedSlow = true;
            if (!_server.SlowRequests.TryAcquire(out var suppressed))
                continue;

            var slow = request.Describe(now);
            ready.Report(() => _server.Log.SlowRequest(
                Id, slow.Sequence, slow.Method, slow.Path, slow.Client ?? "an unknown client", slow.Age.TotalSeconds, slow.Activity.GetText(), slow.BytesRead, slow.BytesWritten, suppressed));
        }
    }
}
