using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <content>What is shown of the connection. Only who looks at the status pays for it.</content>
internal sealed partial class FastCgiConnection
{
    private string? _peer;

    public Totals GetTotals()
    {
        using (var scope = EnterLock())
            return new Totals(1, _requestCount, _receivedLength, Output.GetSentLength(scope));
    }

    public ConnectionDescription Describe()
    {
        // It asks the system: once, and not with the lock held.
        var peer = _peer ??= _transport.DescribePeer();
        var id = Id;
        using (var scope = EnterLock())
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
                Output.GetSentLength(scope));
        }
    }

    /// <summary>Adds the requests that are under way to those that somebody wants to know the oldest of.</summary>
    public void AddTo(OldestRequests oldest)
    {
        using (EnterLock())
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
        using (var scope = EnterLock())
            return _requests.Find(id) is { } request && request.Sequence == sequence ? request.Describe(scope, _server.Time.GetTimestamp()) : null;
    }

    /// <summary>Tells of the requests that have become slow since the tick before.</summary>
    private void FindSlow(ConnectionScope scope, TimeSpan threshold, long since, long now, ref ReadyRequests ready)
    {
        foreach (var request in _requests.ToList())
        {
            var began = request.BeganAt;
            if (_server.Time.GetElapsedTime(began, now) < threshold || _server.Time.GetElapsedTime(began, since) >= threshold)
                continue;

            var slow = request.Describe(scope, _server.Time.GetTimestamp());
            ready.Report(() => _server.Advise(slow, static (advisor, slow) => advisor.OnSlow(slow)));
        }
    }
}
