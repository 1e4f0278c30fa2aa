using System.IO.Compression;

namespace FastCgi.AspNetCore.ParityTests.Http;

/// <summary>A request as it is sent: only Host and the length of its body are added.</summary>
internal sealed record ClientRequest(string Method, string Target)
{
    /// <summary>The fields, in order; a name may come more than once.</summary>
    public IReadOnlyList<(string Name, string Value)> Headers { get; init; } = [];

    public string Version { get; init; } = "HTTP/1.1";

    public byte[]? Body { get; init; }

    /// <summary>Whether the body is sent in chunks, without its length.</summary>
    public bool IsChunked { get; init; }

    /// <summary>Whether the body waits for a 100 or for the final status.</summary>
    public bool ExpectsContinue { get; init; }

    public bool IsHead => Method == "HEAD";

    public static ClientRequest Get(string target) => new("GET", target);

    public static ClientRequest Post(string target, string contentType, string body)
        => new ClientRequest("POST", target) { Body = Encoding.UTF8.GetBytes(body) }.With("Content-Type", contentType);

    public static ClientRequest PostForm(string target, params (string Name, string Value)[] fields)
        => Post(
            target,
            "application/x-www-form-urlencoded",
            string.Join('&', fields.Select(field => $"{field.Name}={Uri.EscapeDataString(field.Value)}")));

    public ClientRequest Compress(string encoding)
    {
        using var compressed = new MemoryStream();
        using (Stream compressor = encoding switch
        {
            "gzip" => new GZipStream(compressed, CompressionLevel.Fastest, leaveOpen: true),
            "br" => new BrotliStream(compressed, CompressionLevel.Fastest, leaveOpen: true),
            "deflate" => new ZLibStream(compressed, CompressionLevel.Fastest, leaveOpen: true),
            _ => new BufferedStream(compressed),
        })
        {
            compressor.Write(Body);
            compressor.Flush();
        }

        return With("Content-Encoding", encoding) with { Body = compressed.ToArray() };
    }

    public ClientRequest With(string name, string value) => this with { Headers = [.. Headers, (name, value)] };

    public override string ToString()
        => $"{Method} {Target} "
            + $"{Version}{(IsChunked ? " chunked" : string.Empty)}{(ExpectsContinue ? " 100-continue" : string.Empty)}";
}
