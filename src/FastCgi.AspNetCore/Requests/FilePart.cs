namespace FastCgi.AspNetCore.Requests;

/// <summary>What an application wants to be sent of a file.</summary>
internal readonly record struct FilePart(FileInfo File, long Offset, long Length)
{
    /// <summary>Checks what an application asks for, as Kestrel does.</summary>
    /// <exception cref="FileNotFoundException">There is no such file.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The file has not that many bytes.</exception>
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
