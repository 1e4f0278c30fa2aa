using Microsoft.Net.Http.Headers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>Whether the web server can send a file equally correctly: <c>docs/decisions/send-file.md</c>.</summary>
internal sealed class SendFileOffload
{
    public const string XAccelRedirect = "X-Accel-Redirect";

    private const string XSendfile = "X-Sendfile";

    /// <summary>The headers that nginx keeps with X-Accel-Redirect, or derives from the file.</summary>
    private static readonly string[] s_headersOfNginx =
    [
        Known.ContentType, Known.ContentDisposition, Known.AcceptRanges, Known.SetCookie, Known.CacheControl,
        Known.Expires, Known.ContentLength, Known.ContentRange, Known.LastModified, Known.ETag, Known.Date,
        Known.Server,
    ];

    /// <summary>The conditional headers, which the web server would evaluate with its own validators.</summary>
    private static readonly string[] s_conditions =
        [Known.IfMatch, Known.IfNoneMatch, Known.IfModifiedSince, Known.IfUnmodifiedSince];

    private static readonly string[] s_replacedByNginx = [Known.ContentRange, Known.AcceptRanges];

    private readonly SendFileRoot[] _roots;
    private readonly HashSet<string> _keptHeaders;

    public SendFileOffload(FastCgiSendFileOptions options)
    {
        // If roots are nested, the inner one applies.
        _roots = [.. options.Roots.OrderByDescending(static root => root.Folder.Length)];
        _keptHeaders = new(s_headersOfNginx.Concat(options.PassedHeaders), StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>The headers that the web server derives from the file. nginx would repeat Accept-Ranges.</summary>
    public static ReadOnlySpan<string> GetReplacedHeaders(string header)
        => header == XAccelRedirect ? s_replacedByNginx : s_replacedByNginx.AsSpan(0, 1);

    /// <summary>Finds the header that makes the web server send a file, or the reason why there is none.</summary>
    public string? FindHeader(FileInfo file, out KeyValuePair<string, string> header)
    {
        var obstacle = FindRoot(file, out var root, out var path);
        header = root.Location is null
            ? new(XSendfile, root.Folder + path)
            : new(XAccelRedirect, Escape(root.Location + path));
        return obstacle;
    }

    public string? FindObstacle(
        FilePart part, KeyValuePair<string, string> header, int statusCode, IHeaderDictionary request,
        IHeaderDictionary response)
    {
        var isWhole = part.Offset == 0 && part.Length == part.File.Length;
        if (statusCode != StatusCodes.Status206PartialContent && !(statusCode == StatusCodes.Status200OK && isWhole))
            return $"the status is {statusCode}, but the web server would send that of the whole file";
        if (statusCode == StatusCodes.Status206PartialContent && !IsRangeOf(request, part))
            return "it is not the single range that the client requested";
        if (response.ContentLength != part.Length)
            return "Content-Length is not the length of the file or range";

        if (s_conditions.FirstOrDefault(request.ContainsKey) is { } condition)
            return $"the request has {condition}";
        if (response.Keys.FirstOrDefault(name => IsDropped(name, header.Key)) is { } dropped)
            return $"the web server would drop the header {dropped}";

        return header.Key == XSendfile && !IsPlain(header.Value)
            ? "lighttpd and Apache decode such paths differently"
            : null;
    }

    /// <summary>nginx drops unknown headers. Apache's mod_xsendfile drops only Content-Encoding.</summary>
    private bool IsDropped(string name, string header) => !_keptHeaders.Contains(name)
        && (header == XAccelRedirect || name.Equals(Known.ContentEncoding, StringComparison.OrdinalIgnoreCase));

    private string? FindRoot(FileInfo file, out SendFileRoot root, out string path)
    {
        // Not the normalized path of FileInfo: after a link, .. is not the folder in the path.
        var isPlain = !file.ToString().Split('/', '\\').Contains("..");
        root = isPlain
            ? Array.Find(_roots, root => file.FullName.StartsWith(root.Folder, StringComparison.Ordinal))
            : default;
        if (root.Folder is null)
        {
            path = string.Empty;
            return "it is not in a SendFile folder";
        }

        path = file.FullName[root.Folder.Length..];
        return HasLink(file, root) ? "its path contains a symbolic link" : null;
    }

    /// <summary>Whether the path contains a link, which could lead out of the root.</summary>
    private static bool HasLink(FileInfo file, SendFileRoot root)
    {
        for (var path = file.FullName; path.Length > root.Folder.Length; path = Path.GetDirectoryName(path)!)
        {
            if (File.GetAttributes(path).HasFlag(FileAttributes.ReparsePoint))
                return true;
        }

        return false;
    }

    /// <summary>Whether the web server, which gets the same Range, will send the same part.</summary>
    private static bool IsRangeOf(IHeaderDictionary request, FilePart part)
    {
        if (!RangeHeaderValue.TryParse(request.Range.ToString(), out var range) || range.Unit != "bytes"
            || range.Ranges.Count != 1)
            return false;

        var (from, to) = (range.Ranges.First().From, range.Ranges.First().To);
        var length = part.File.Length;
        var start = from ?? Math.Max(0, length - to!.Value);
        var end = from is null || to is null ? length : Math.Min(to.Value + 1, length);
        return (part.Offset, part.Length) == (start, end - start);
    }

    /// <summary>Whether escaping changes nothing: lighttpd unescapes it, Apache's mod_xsendfile does not.</summary>
    private static bool IsPlain(string path)
        => path.All(static c => c is >= ' ' and <= '~' and not '%') && path[^1] != ' ';

    private static string Escape(string path)
        => string.Join('/', path.Split('/', Path.DirectorySeparatorChar).Select(Uri.EscapeDataString));
}

internal readonly record struct FilePart(FileInfo File, long Offset, long Length)
{
    public static FilePart Check(string path, long offset, long? count)
    {
        var file = new FileInfo(path);
        if (offset < 0 || offset > file.Length)
            throw new ArgumentOutOfRangeException(nameof(offset), offset, string.Empty);
        if (count < 0 || count > file.Length - offset)
            throw new ArgumentOutOfRangeException(nameof(count), count, string.Empty);

        return new FilePart(file, offset, count ?? file.Length - offset);
    }
}
