using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>A request that lets its response end as it likes.</summary>
internal sealed class ResponseOwnerStub : ResponseOwner
{
    public override ILogger Log => NullLogger.Instance;

    public override string ConnectionId => "connection";

    public override string TraceIdentifier => "request";

    public override IHeaderDictionary RequestHeaders { get; } = new HeaderDictionary();

    public override bool CanAnswerOk => true;

    public override Exception? ApplicationError => null;

    public override int Generation => 0;

    public override Action RecordApplicationError(Exception exception) => static () => { };

    public override void ReportDroppedHeaders(string names)
    {
    }

    public override void ReportEventStream()
    {
    }

    public override void OnAnswered()
    {
    }

    public override ResponseEnd OnEnding(bool isComplete) => ResponseEnd.Complete;

    public override void Abort(int generation)
    {
    }
}
