namespace FastCgi.AspNetCore.Streams;

/// <summary>The slot of the server that a request holds.</summary>
internal enum RequestSlot : byte
{
    /// <summary>None: there is no limit, or the request was refused or is over.</summary>
    None,

    Ordinary,

    /// <summary>One of the slots for the status.</summary>
    Status,

    /// <summary>None yet: it waits for one.</summary>
    Queued,
}
