namespace FastCgi.AspNetCore.ParityTests.Sites.FrontEnds;

/// <summary>A web server that also listens with TLS, and requests a client certificate.</summary>
internal abstract class HttpsFrontEnd(FrontEndKind kind, string folder, EndPoint application, PortReservation httpsPort)
    : FrontEnd(new FrontEndSetup { Kind = kind }, folder, application)
{
    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>(MoreValues)
    {
        ["https-port"] = $"{httpsPort.EndPoint.Port}",
    };

    /// <summary>The values in the templates, other than the ports.</summary>
    protected abstract IEnumerable<KeyValuePair<string, string>> MoreValues { get; }

    // The tests themselves check for the errors that they cause.
    protected override string[] ErrorMarks => ["emerg]", "alert]", "crit]"];
}
