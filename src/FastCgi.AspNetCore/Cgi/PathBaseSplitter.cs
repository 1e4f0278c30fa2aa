namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// Splits a decoded path into path base and path by whole segments, ignoring case like <c>UsePathBase</c>.
/// </summary>
internal static class PathBaseSplitter
{
    /// <summary>
    /// PATH_BASE takes precedence over the configured base, and that over SCRIPT_NAME, which requires trust and
    /// PATH_INFO.
    /// </summary>
    public static void Split(
        ReadOnlySpan<byte> path, scoped ref RequestVariables variables, CgiMapping mapping, ref RequestHead head)
    {
        var length = 0;
        if (!variables.PathBase.IsEmpty)
            length = Match(path, variables.PathBase);
        else if (mapping.PathBase.Length > 0)
            length = Match(path, mapping.PathBaseBytes);
        else if (mapping.TrustScriptName && variables.HasPathInfo)
            length = Match(path, variables.ScriptName);

        head.PathBase = length == 0 ? string.Empty : GetString(path[..length], mapping);
        head.Path = GetString(path[length..], mapping);
    }

    private static int Match(ReadOnlySpan<byte> path, ReadOnlySpan<byte> pathBase)
    {
        pathBase = pathBase.TrimEnd((byte)'/');
        if (pathBase.IsEmpty || pathBase[0] != '/' || path.Length < pathBase.Length)
            return 0;

        var isMatch = path[..pathBase.Length].SequenceEqual(pathBase)
            || (Ascii.IsValid(pathBase) && Ascii.EqualsIgnoreCase(path[..pathBase.Length], pathBase));
        var isWhole = path.Length == pathBase.Length || path[pathBase.Length] == '/';
        return isMatch && isWhole ? pathBase.Length : 0;
    }

    private static string GetString(ReadOnlySpan<byte> utf8, CgiMapping mapping)
        => Ascii.IsValid(utf8) ? mapping.Strings.GetString(utf8) : Encoding.UTF8.GetString(utf8);
}
