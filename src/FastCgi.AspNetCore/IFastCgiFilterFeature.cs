namespace FastCgi.AspNetCore;

/// <summary>The file that is to be filtered. A feature of requests in the role <see cref="FastCgiRole.Filter"/>, and of no other.</summary>
public interface IFastCgiFilterFeature
{
    /// <summary>The content of the file, as the web server sends it (FCGI_DATA). The request body is read first, then this.</summary>
    /// <remarks>A read fails if the web server sends less than <see cref="DataLength"/>.</remarks>
    Stream Data { get; }

    /// <summary>The length of the file in bytes, or <see langword="null"/> if the web server does not tell (FCGI_DATA_LENGTH).</summary>
    long? DataLength { get; }

    /// <summary>When the file was last changed, or <see langword="null"/> if the web server does not tell (FCGI_DATA_LAST_MOD).</summary>
    DateTimeOffset? DataLastModified { get; }
}
