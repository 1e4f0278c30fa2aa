namespace FastCgi.AspNetCore;

/// <summary>Provides the file to filter. Only requests in the role <see cref="FastCgiRole.Filter"/> have this feature.</summary>
public interface IFastCgiFilterFeature
{
    /// <summary>Gets the content of the file (FCGI_DATA). Read the request body before it.</summary>
    /// <remarks>Reading fails if the web server sends less than <see cref="DataLength"/>.</remarks>
    Stream Data { get; }

    /// <summary>Gets the length of the file in bytes (FCGI_DATA_LENGTH), or <see langword="null"/> if the web server does not pass it.</summary>
    long? DataLength { get; }

    /// <summary>Gets the time of the last change of the file (FCGI_DATA_LAST_MOD), or <see langword="null"/> if the web server does not pass it.</summary>
    DateTimeOffset? DataLastModified { get; }
}
