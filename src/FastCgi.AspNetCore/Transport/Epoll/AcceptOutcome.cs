namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>What became of an attempt to accept a connection.</summary>
internal enum AcceptOutcome
{
    /// <summary>A connection left the accept queue; there may be more.</summary>
    Taken,

    /// <summary>There is none.</summary>
    Empty,

    /// <summary>The system cannot give us one now.</summary>
    Failed,
}
