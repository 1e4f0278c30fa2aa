using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Responses;

/// <summary>What a response needs of the request it answers; a base class, so that references go one way.</summary>
internal abstract class ResponseOwner
{
    /// <summary>Whether the request was HEAD, so that no body is sent.</summary>
    public abstract bool IsHeadRequest { get; }

    /// <summary>The headers of the request, as the web server sent them.</summary>
    public abstract IHeaderDictionary RequestHeaders { get; }

    /// <summary>Which files the web server sends itself, if any.</summary>
    public abstract SendFileOffload? SendFileOffload { get; }

    /// <summary>Whether the status stands before the headers.</summary>
    public abstract bool PutsStatusFirst { get; }

    /// <summary>Whether the answer may be 200: to an authorizer's request it means that access is allowed, which not every endpoint may say.</summary>
    public abstract bool CanAnswerOk { get; }

    /// <summary>The application has written as much as it declared, or there is no body: the client has, or will have, all it waits for.</summary>
    public abstract void OnResponseAnswered();

    /// <summary>The response is about to end: the request gives up its id, for the next request may come with it at once.</summary>
    /// <returns>Whether it is the last on a connection that the web server means to keep.</returns>
    public abstract bool OnResponseEnding();

    /// <summary>The end of the response is in the line: the connection may have to be closed behind it.</summary>
    public abstract void OnResponseEnded();

    /// <summary>What went wrong in the application so far, so that its response cannot be what it should.</summary>
    public abstract Exception? ApplicationError { get; }

    /// <summary>Notes an error of the application that it may not see itself.</summary>
    public abstract void ReportApplicationError(Exception exception);

    /// <summary>Notes that a callback of OnCompleted failed, which changes nothing for a response that has ended.</summary>
    public abstract void OnCallbackFailed(Exception exception);

    /// <summary>Ends the request at once, so that the client sees that the response is cut.</summary>
    public abstract void Abort();

    /// <summary>Notes that the application wrote a body in answer to HEAD.</summary>
    public abstract void OnHeadBodyWritten(long length);

    /// <summary>Notes that the web server sends a file.</summary>
    public abstract void OnFileOffloaded(string path, string target);

    /// <summary>Notes that the web server does not send a file, though some it does.</summary>
    public abstract void OnFileStreamed(string path, string obstacle);

    /// <summary>Notes that the application set headers that are not passed on.</summary>
    public abstract void OnHeadersDropped(string names);
}
