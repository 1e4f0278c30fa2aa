namespace FastCgi.Client;

/// <summary>The exception for an answer that is malformed or ended too early, or a request whose body has another length than declared.</summary>
public sealed class FastCgiProtocolException : IOException
{
    /// <summary>Creates the exception.</summary>
    /// <param name="error">Why the answer cannot be used.</param>
    /// <param name="message">The same for people.</param>
    /// <param name="innerException">What the system said, if it did.</param>
    public FastCgiProtocolException(FastCgiProtocolError error, string message, Exception? innerException = null)
        : base(message, innerException)
        => Error = error;

    /// <summary>Why the answer cannot be used.</summary>
    public FastCgiProtocolError Error { get; }

    /// <summary>How the request ended, if it did: a refused one has its protocolStatus here.</summary>
    public FastCgiCompletion? Completion { get; init; }

    /// <inheritdoc/>
    public override string Message => Address is null ? base.Message : $"{Address}: {base.Message}";

    internal FastCgiAddress? Address { get; set; }
}
