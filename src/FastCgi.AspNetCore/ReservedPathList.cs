using System.Collections.ObjectModel;

namespace FastCgi.AspNetCore;

/// <summary>Paths, validated when added and kept without a trailing slash.</summary>
internal sealed class ReservedPathList : Collection<string>
{
    protected override void InsertItem(int index, string item) => base.InsertItem(index, Check(item));

    protected override void SetItem(int index, string item) => base.SetItem(index, Check(item));

    private static string Check(string path)
    {
        ArgumentNullException.ThrowIfNull(path);
        var trimmed = path.TrimEnd('/');
        if (trimmed.Length == 0 || trimmed[0] != '/')
            throw new ArgumentException($"The reserved path '{path}' must begin with a slash, as in /health, and cannot be / itself.", nameof(path));
        return trimmed;
    }
}
