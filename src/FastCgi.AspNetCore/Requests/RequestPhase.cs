namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// How far a request has come. It answers both whether the request is over and who executes it: of all threads that could, the one that makes
/// it <see cref="Running"/> does, or, of one that is <see cref="Dropped"/>, completes it.
/// </summary>
internal enum RequestPhase
{
    /// <summary>Its params are on their way.</summary>
    Receiving,

    /// <summary>It is ready and waits for a thread.</summary>
    Waiting,

    /// <summary>A thread has taken it: the application works on it, or the server answers it.</summary>
    Running,

    /// <summary>It has left its connection, with a complete answer.</summary>
    Ended,

    /// <summary>It was aborted before a thread had taken it: the first that comes to it completes it, without the application.</summary>
    Dropped,

    /// <summary>It has left its connection, because nobody waits for the answer: aborted by the web server, the application or this server.</summary>
    Aborted,

    /// <summary>It has left its connection, with an answer that the client sees is not complete.</summary>
    Cut,

    /// <summary>The application has returned too, or was not called: nothing can be read or written any more.</summary>
    Over,
}

/// <summary>What BEGIN_REQUEST says, and when it came.</summary>
/// <param name="Id">The request id.</param>
/// <param name="Role">What the web server wants.</param>
/// <param name="KeepConnection">Whether the web server keeps the connection after this request.</param>
/// <param name="Sequence">Which request of the connection it is.</param>
/// <param name="BeganAt">When it came, by the clock of the server.</param>
internal readonly record struct RequestStart(ushort Id, FastCgiRole Role, bool KeepConnection, uint Sequence, long BeganAt);
