namespace FastCgi.Client.Streams;

/// <summary>Buffers a body of unknown length: up to 64 KiB in memory, more in a temporary file.</summary>
internal sealed class BodyBuffer() : ForwardStream(canRead: false)
{
    private const int MaxInMemory = 64 * 1024;

    public Stream Content { get; private set; } = new MemoryStream();

    public static async Task<BodyBuffer> CreateAsync(ContentSource body, CancellationToken cancellationToken)
    {
        var buffer = new BodyBuffer();
        try
        {
            await body.WriteToAsync(buffer, cancellationToken).ConfigureAwait(false);
            buffer.Content.Position = 0;
            return buffer;
        }
        catch
        {
            buffer.Dispose();
            throw;
        }
    }

    public override async ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (Content is MemoryStream memory && memory.Length + buffer.Length > MaxInMemory)
        {
            Content = CreateFile();
            memory.WriteTo(Content);
        }

        await Content.WriteAsync(buffer, cancellationToken).ConfigureAwait(false);
    }

    protected override void Dispose(bool disposing)
    {
        Content.Dispose();
        base.Dispose(disposing);
    }

    private static FileStream CreateFile()
    {
        var options = new FileStreamOptions
        {
            Mode = FileMode.CreateNew,
            Access = FileAccess.ReadWrite,
            Options = FileOptions.DeleteOnClose,
        };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        var file = new FileStream(
            Path.Combine(Path.GetTempPath(), "fastcgi-body-" + Path.GetRandomFileName()), options);
        // Leaves no file, even if the process is killed.
        if (!OperatingSystem.IsWindows())
            File.Delete(file.Name);
        return file;
    }
}
