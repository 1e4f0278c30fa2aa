namespace FastCgi.AspNetCore.Streams;

/// <content>Records of requests, and management records (FastCGI specification, section 4) with id 0.</content>
internal sealed partial class FastCgiConnection
{
    // Without this limit, a peer could start and abort requests endlessly (HTTP/2's rapid reset, CVE-2023-44487).
    private const int MaxLingeringRequests = 100;

    private ProtocolError OnBeginRequest(ConnectionScope scope, in RecordPiece piece, ref ReadyRequests ready)
    {
        if (!scope.State.PartialContent.TryComplete(in piece, ProtocolConstants.FixedBodyLength, out var content))
            return piece.Header.ContentLength == ProtocolConstants.FixedBodyLength
                ? ProtocolError.None
                : ProtocolError.BeginRequestLength;

        var body = BeginRequestBody.Parse(content);
        // A record that arrived in pieces is complete.
        scope.State.PartialContent = default;
        var id = piece.Header.RequestId;
        if (scope.State.Requests.ContainsKey(id))
            return ProtocolError.DuplicateRequestId;

        scope.State.RequestCount++;
        if (!scope.State.Lifetime.TryBeginRequest(hasRequests: scope.State.Requests.Count > 0))
            return ProtocolError.None;

        var role = (FastCgiRole)body.Role;
        // Options may contain any number.
        if (role is not (FastCgiRole.Responder or FastCgiRole.Authorizer) || !_server.Options.Roles.Contains(role))
        {
            ReportRole(role, ref ready);
            Refuse(scope, id, body.KeepConnection, ProtocolStatus.UnknownRole);
            return ProtocolError.None;
        }

        // Requests beyond the limit get a response that explains it, after their parameters are complete.
        var limit = _server.Options.Limits.MaxRequestsPerConnection;
        if (scope.State.Requests.Count >= 2 * limit)
        {
            var status = limit == 1 ? ProtocolStatus.CantMultiplexConnection : ProtocolStatus.Overloaded;
            Refuse(scope, id, body.KeepConnection, status);
            return ProtocolError.None;
        }

        scope.State.IsMultiplexed |= scope.State.Requests.Count > 0 || scope.State.Output.Queued.Count > 0;
        // A web server that reuses an id has received all responses up to the last END_REQUEST.
        if (id == scope.State.LastId && !scope.State.IsMultiplexed)
            scope.State.Output.ResponsesEnd = 0;
        scope.State.LastId = id;
        var request = _server.CreateStream(this, new RequestStart(
            id, role, body.KeepConnection, (uint)scope.State.RequestCount, _server.Time.GetTimestamp()));
        if (scope.State.Requests.Count >= limit)
            request.Reject(
                limit == 1 ? RequestRejection.CannotMultiplex : RequestRejection.TooManyRequestsOnConnection);
        else if (Volatile.Read(ref _unreturnedCount) - scope.State.Requests.Count >= MaxLingeringRequests)
            request.Reject(RequestRejection.TooManyRequestsOnConnection);
        Interlocked.Increment(ref _uses);
        Interlocked.Increment(ref _unreturnedCount);
        scope.State.Requests.Add(id, request);
        return ProtocolError.None;
    }

    // In its own method, so that a request with a supported role allocates no closure.
    private void ReportRole(FastCgiRole role, ref ReadyRequests ready)
        => ready.Report(() => _server.OnRoleRefused(role));

    private static void OnParams(ConnectionScope scope, in RecordPiece piece, ref ReadyRequests ready)
    {
        if (scope.State.Requests.GetValueOrDefault(piece.Header.RequestId) is not { HasAllParameters: false } request)
            return;

        if (piece.IsEmptyRecord)
            MakeReady(scope, request, ref ready);
        else
            request.AppendParameters(scope, piece.Content, isWhole: piece.IsStart && piece.IsEnd);
    }

    private static void OnStdin(ConnectionScope scope, in RecordPiece piece, ref ReadyRequests ready)
    {
        if (scope.State.Requests.GetValueOrDefault(piece.Header.RequestId) is not { } request)
            return;

        if (!request.HasAllParameters)
        {
            request.Reject(RequestRejection.StdinBeforeEndOfParameters);
            MakeReady(scope, request, ref ready);
        }
        else if (piece.IsEmptyRecord)
        {
            request.EndStdin(scope);
        }
        else
        {
            request.AppendStdin(scope, piece.Content);
        }
    }

    private void OnAbortRequest(ConnectionScope scope, in RecordPiece piece, ref ReadyRequests ready)
    {
        if (!piece.IsEnd || scope.State.Requests.GetValueOrDefault(piece.Header.RequestId) is not { } request)
            return;

        var id = request.Id;
        ready.Report(() => _server.Log.AbortRequestReceived(Id, id));
        TryDrop(scope, request, AbortCause.WebServer, error: null, ref ready);
        if (!request.KeepConnection)
            scope.State.Lifetime.CloseAfterLast();
        OnRequestLeft(scope, request.IsInputOver);
        Output.WriteEndRequest(scope, id, ProtocolStatus.RequestComplete);
    }

    /// <summary>Ends a request at BEGIN_REQUEST. Later records with its id are ignored.</summary>
    private void Refuse(ConnectionScope scope, ushort id, bool keepConnection, ProtocolStatus status)
    {
        Output.WriteEndRequest(scope, id, status);
        if (!keepConnection)
            scope.State.Lifetime.CloseAfterLast();
        if (scope.State.Requests.Count == 0 && scope.State.Lifetime.Phase == ConnectionPhase.Closing)
            Output.CloseWhenSent(scope);
    }

    private static void MakeReady(ConnectionScope scope, RequestStream request, ref ReadyRequests ready)
    {
        var canRun = request.TryMakeReady(scope);
        // A connection belongs to one web server. A request that is rejected may lack its name.
        if (scope.State.ForbidsReset is null && (request.Rejection == RequestRejection.None || request.ForbidsReset))
            scope.State.ForbidsReset = request.ForbidsReset;
        if (canRun)
            ready.Add(request);
    }

    private ProtocolError OnManagementPiece(ConnectionScope scope, in RecordPiece piece)
    {
        if (piece.Header.Type == RecordType.GetValues)
            return OnGetValues(scope, in piece);
        if (piece.Header.Type is <= RecordType.Data and not 0)
            return ProtocolError.ApplicationRecordWithNullRequestId;

        // Responses that were not requested are ignored.
        if (piece.IsEnd && piece.Header.Type is not (RecordType.GetValuesResult or RecordType.UnknownType))
        {
            Span<byte> record = stackalloc byte[RecordWriter.FixedRecordLength];
            RecordWriter.WriteUnknownType(record, piece.Header.Type);
            Output.WriteControl(scope, record);
        }

        return ProtocolError.None;
    }

    /// <summary>Answers each known name once, with the limits in force. Unknown names are omitted.</summary>
    private ProtocolError OnGetValues(ConnectionScope scope, in RecordPiece piece)
    {
        if (!scope.State.PartialContent.TryComplete(in piece, piece.Header.ContentLength, out var content))
            return ProtocolError.None;

        Span<byte> result = stackalloc byte[128];
        var length = ProtocolConstants.HeaderLength;
        var reader = new NameValuePairReader(content);
        while (reader.TryRead(out var name, out _))
        {
            if (GetValue(name) is not { } value || result[..length].IndexOf(name) >= 0)
                continue;

            var text = value.ToString(CultureInfo.InvariantCulture);
            length += NameValuePairWriter.Write(result[length..], name, Encoding.ASCII.GetBytes(text));
        }

        scope.State.PartialContent = default;
        if (reader.IsMalformed)
            return ProtocolError.MalformedGetValues;

        // A web server that queries this is about to multiplex.
        scope.State.IsMultiplexed |= _server.Options.Limits.MaxRequestsPerConnection > 1
            && result[..length].IndexOf(ProtocolConstants.MultiplexesConnectionsName) >= 0;

        RecordWriter.WriteHeader(
            result, RecordType.GetValuesResult, ProtocolConstants.NullRequestId,
                length - ProtocolConstants.HeaderLength);
        Output.WriteControl(scope, result[..length]);
        return ProtocolError.None;
    }

    /// <returns><see langword="null"/> if the name is unknown.</returns>
    private long? GetValue(ReadOnlySpan<byte> name)
    {
        var limits = _server.Options.Limits;
        if (name.SequenceEqual(ProtocolConstants.MaxConnectionsName))
            return Math.Min(limits.MaxConcurrentConnections ?? long.MaxValue, _server.GetMaxConnections());
        if (name.SequenceEqual(ProtocolConstants.MaxRequestsName))
            return Math.Min(limits.MaxConcurrentRequests ?? long.MaxValue, limits.MaxRequestsPerConnection);
        if (name.SequenceEqual(ProtocolConstants.MultiplexesConnectionsName))
            return limits.MaxRequestsPerConnection > 1 ? 1 : 0;

        return null;
    }
}
