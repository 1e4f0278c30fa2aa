namespace FastCgi.AspNetCore.Streams;

internal enum RequestSlot : byte
{
    /// <summary>There is no limit, or the request was refused or is over.</summary>
    None,

    Ordinary,

    Status,

    /// <summary>It waits for one.</summary>
    Queued,
}
