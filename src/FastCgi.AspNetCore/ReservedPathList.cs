using System.Collections.ObjectModel;

namespace FastCgi.AspNetCore;

/// <summary>Paths that are checked when they are added, and kept without a trailing slash.</summary>
internal sealed class ReservedPathList : Collection<string>
{
    protected override void InsertItem(int index, string item) => base.InsertItem(index, Check(item));

    protected override void SetItem(int index, string item) => base.SetItem(index, Check(item));

    private static string Check(string path)
    {
        ArgumentNullException.ThrowIfNull(path);
        var trimmed = path.TrimEnd('/');
        if (trimmed.Length == 0 || trimmed[0] != '/')
            throw new ArgumentException($"The reserved path '{path}' must begin with a slash, and be more than that.", nameof(path));
        return trimmed;
    }
}
