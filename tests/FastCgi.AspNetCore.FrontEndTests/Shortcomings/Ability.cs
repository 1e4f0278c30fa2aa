namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>What a case needs of the web server, and not every one can do; see <see cref="Shortcomings"/>.</summary>
public enum Ability
{
    /// <summary>An upload reaches the application while it arrives.</summary>
    StreamedUpload,

    /// <summary>A piece of an upload reaches the application however small it is.</summary>
    SmallPieces,

    /// <summary>An upload without Content-Length, in HTTP/1.1 chunked.</summary>
    UploadOfUnknownLength,

    /// <summary>The same, of any size.</summary>
    LargeUploadOfUnknownLength,

    /// <summary>An upload can be answered before it is read, and the client sees the answer.</summary>
    EarlyAnswer,

    /// <summary>The header block reaches the client before there is something of the body.</summary>
    EarlyHeaders,

    /// <summary>The response header X-Accel-Buffering switches buffering off.</summary>
    BufferingHeader,

    /// <summary>The Content-Length of the application reaches the client.</summary>
    ContentLength,

    /// <summary>A client that goes away while the application is silent is noticed.</summary>
    NoticedClient,

    /// <summary>A response without Content-Length whose end is missing is seen to be cut.</summary>
    CutResponse,

    ClientCertificate,

    /// <summary>A target with bytes that are no UTF-8, escaped.</summary>
    TargetThatIsNoText,

    /// <summary>The target reaches the application as the client wrote it.</summary>
    RawTarget,

    /// <summary>The application gets the client's own X-Forwarded-For.</summary>
    ForwardedHeaders,

    /// <summary>The web server passes the address that the client connected to.</summary>
    LocalAddress,

    /// <summary>A header whose name has underscores does not reach the application as the one with hyphens.</summary>
    HyphensOnly,
}
