namespace FastCgi.AspNetCore.ParityTests.Http;

/// <summary>A form with files, as a browser sends it.</summary>
internal sealed class MultipartBody
{
    private const string Boundary = "----parity-boundary";

    private readonly List<byte> _parts = [];

    public MultipartBody AddField(string name, string value)
        => Add($"form-data; name=\"{name}\"", contentType: null, Encoding.UTF8.GetBytes(value));

    public MultipartBody AddFile(string name, string fileName, string contentType, ReadOnlySpan<byte> content)
        => Add($"form-data; name=\"{name}\"; filename=\"{fileName}\"", contentType, content);

    public ClientRequest Post(string target)
        => new ClientRequest("POST", target) { Body = [.. _parts, .. Encoding.ASCII.GetBytes($"--{Boundary}--\r\n")] }
            .With("Content-Type", $"multipart/form-data; boundary={Boundary}");

    private MultipartBody Add(string disposition, string? contentType, ReadOnlySpan<byte> content)
    {
        var type = contentType is null ? string.Empty : $"Content-Type: {contentType}\r\n";
        _parts.AddRange(Encoding.UTF8.GetBytes($"--{Boundary}\r\nContent-Disposition: {disposition}\r\n{type}\r\n"));
        _parts.AddRange(content);
        _parts.AddRange("\r\n"u8);
        return this;
    }
}
