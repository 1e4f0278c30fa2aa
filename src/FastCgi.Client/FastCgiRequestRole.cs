namespace FastCgi.Client;

/// <summary>What an application is asked to do (FastCGI specification, section 6).</summary>
public enum FastCgiRequestRole
{
    /// <summary>Answers an HTTP request.</summary>
    Responder = 1,

    /// <summary>Says whether an HTTP request is allowed. It gets no body.</summary>
    Authorizer = 2,

    /// <summary>Answers with a file that it has filtered. The file is <see cref="FastCgiRequestMessage.Data"/>.</summary>
    Filter = 3,
}
