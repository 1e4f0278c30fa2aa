namespace FastCgi.AspNetCore;

/// <summary>
/// Configures folders whose files the web server sends itself. For static files, <c>Results.File</c> and
/// <c>SendFileAsync</c>, the application then sends no body to the web server. It still sends other
/// files itself, and responses that the web server would change.
/// </summary>
public sealed class FastCgiSendFileOptions
{
    /// <summary>
    /// Gets the response headers that the web server is configured to pass on. With <c>X-Accel-Redirect</c>, nginx
    /// drops response headers that it does not keep by default. If a response has such a header that is not listed
    /// here, the application sends the file itself.
    /// </summary>
    /// <remarks>
    /// Empty by default. For nginx, each header needs a line in the location, such as <c>add_header Vary
    /// $upstream_http_vary;</c>. With <c>X-Sendfile</c>, web servers keep all headers, except that Apache drops
    /// Content-Encoding. For lighttpd, which keeps it, add it here.
    /// </remarks>
    public ISet<string> PassedHeaders { get; } = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
    internal List<SendFileRoot> Roots { get; } = [];

    /// <summary>
    /// Lets nginx, or another web server that supports <c>X-Accel-Redirect</c>, send the files of a folder.
    /// </summary>
    /// <param name="root">The absolute path of the folder.</param>
    /// <param name="location">
    /// The internal location that has the folder as its <c>alias</c>, such as <c>/protected/</c>.
    /// </param>
    /// <exception cref="ArgumentException">
    /// The root is not an absolute path, or the location does not begin with a slash.
    /// </exception>
    public void AddXAccelRedirect(string root, string location)
    {
        ArgumentException.ThrowIfNullOrEmpty(location);
        if (location[0] != '/')
            throw new ArgumentException($"The location '{location}' must begin with a slash.", nameof(location));

        Roots.Add(new SendFileRoot(Normalize(root), location.TrimEnd('/') + '/'));
    }

    /// <summary>
    /// Lets lighttpd, or Apache with <c>mod_xsendfile</c>, send the files of a folder (<c>X-Sendfile</c>).
    /// </summary>
    /// <param name="root">The absolute path of the folder.</param>
    /// <exception cref="ArgumentException">The root is not an absolute path.</exception>
    public void AddXSendFile(string root) => Roots.Add(new SendFileRoot(Normalize(root), Location: null));

    private static string Normalize(string root)
    {
        ArgumentException.ThrowIfNullOrEmpty(root);
        if (!Path.IsPathFullyQualified(root))
            throw new ArgumentException($"The folder '{root}' must be an absolute path.", nameof(root));

        return Path.TrimEndingDirectorySeparator(Path.GetFullPath(root)) + Path.DirectorySeparatorChar;
    }
}

/// <summary>A folder whose files the web server sends.</summary>
/// <param name="Folder">The path, with a trailing separator.</param>
/// <param name="Location">
/// The location for <c>X-Accel-Redirect</c>, with a trailing slash; <see langword="null"/> for <c>X-Sendfile</c>.
/// </param>
internal readonly record struct SendFileRoot(string Folder, string? Location);
