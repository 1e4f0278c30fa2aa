namespace FastCgi.AspNetCore;

/// <summary>
/// Folders whose files the web server sends itself: static files, <c>Results.File</c> and <c>SendFileAsync</c> then cost no bytes of
/// a body between the application and the web server. A file elsewhere, and a response that the web server would change, is sent by
/// the application as ever.
/// </summary>
public sealed class FastCgiSendFileOptions
{
    /// <summary>
    /// The response headers that the web server is configured to pass on. With <c>X-Accel-Redirect</c>, a response that has another one
    /// is sent by the application, unless it is one that nginx keeps by itself, for nginx would drop it.
    /// </summary>
    /// <remarks>
    /// Empty by default. For nginx, each needs a line in the location, such as <c>add_header Vary $upstream_http_vary;</c>. With
    /// <c>X-Sendfile</c> every header is kept, except that Apache drops Content-Encoding; for lighttpd, name that one.
    /// </remarks>
    public ISet<string> PassedHeaders { get; } = new HashSet<string>(StringComparer.OrdinalIgnoreCase);

    /// <summary>The folders, and what stands for them at the web server.</summary>
    internal List<SendFileRoot> Roots { get; } = [];

    /// <summary>Lets nginx send the files of a folder (<c>X-Accel-Redirect</c>), and what is configured to act like it.</summary>
    /// <param name="root">The folder: an absolute path.</param>
    /// <param name="location">The internal location that has the folder as its <c>alias</c>, such as <c>/protected/</c>.</param>
    /// <exception cref="ArgumentException">The root is no absolute path, or the location does not begin with a slash.</exception>
    public void AddXAccelRedirect(string root, string location)
    {
        ArgumentException.ThrowIfNullOrEmpty(location);
        if (location[0] != '/')
            throw new ArgumentException($"The location '{location}' must begin with a slash.", nameof(location));

        Roots.Add(new SendFileRoot(Normalize(root), location.TrimEnd('/') + '/'));
    }

    /// <summary>Lets lighttpd, or Apache with <c>mod_xsendfile</c>, send the files of a folder (<c>X-Sendfile</c>).</summary>
    /// <param name="root">The folder: an absolute path.</param>
    /// <exception cref="ArgumentException">The root is no absolute path.</exception>
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
/// <param name="Folder">Its path, with a separator at the end.</param>
/// <param name="Location">What stands for it in <c>X-Accel-Redirect</c>, with a slash at the end; without it, <c>X-Sendfile</c> is used.</param>
internal readonly record struct SendFileRoot(string Folder, string? Location);
