using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>A request that lets its response end as the test likes, and notes what it is told.</summary>
internal sealed class ResponseOwnerStub : ResponseOwner
{
    private ILogger? _log;
    private Exception? _error;

    public CollectedLogs Logs { get; } = new();

    public override ILogger Log => _log ??= Logs.CreateLogger("test");

    public override string ConnectionId => "connection";

    public override string TraceIdentifier => "request";

    public override IHeaderDictionary RequestHeaders { get; } = new HeaderDictionary();

    public bool AllowsOk { get; set; } = true;

    public override bool CanAnswerOk => AllowsOk;

    public override Exception? ApplicationError => _error;

    public override int Generation => 7;

    /// <summary>How the request leaves its connection; by default as it would among others.</summary>
    public ResponseEnd? End { get; set; }

    /// <summary>What it was told, in order.</summary>
    public List<string> Told { get; } = [];

    public override Action RecordApplicationError(Exception exception)
    {
        _error = exception;
        return () => Told.Add($"error {exception.Message}");
    }

    public override void ReportDroppedHeaders(string names) => Told.Add($"dropped {names}");

    public override void ReportEventStream() => Told.Add("event stream");

    public override void OnAnswered() => Told.Add("answered");

    public override ResponseEnd OnEnding(bool isComplete) => End ?? (isComplete ? ResponseEnd.Complete : ResponseEnd.CutByEndRequest);

    public override void Abort(int generation) => Told.Add($"abort {generation}");
}
