namespace FastCgi.AspNetCore.Streams;

internal enum RequestSlot : byte
{
    /// <summary>The request needs no slot: there is no limit, or it was refused or is over.</summary>
    None,

    Ordinary,

    Status,

    Queued,
}
