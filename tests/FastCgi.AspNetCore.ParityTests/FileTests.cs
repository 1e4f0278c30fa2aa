namespace FastCgi.AspNetCore.ParityTests;

/// <summary>Files, by the middleware, as static assets and as results, and compressed responses.</summary>
public sealed class FileTests(ParitySites sites) : ParityTest(sites)
{
    [Theory]
    [InlineData("/files/site.css")]
    [InlineData("/files/numbers.txt")]
    [InlineData("/files/missing.txt")]
    [InlineData("/files/")]
    [InlineData("/site.css")]
    [InlineData("/numbers.txt")]
    [InlineData("/download")]
    [InlineData("/send-file?offset=0&count=10")]
    [InlineData("/send-file?offset=60000&count=40000")]
    [InlineData("/send-file?offset=10&count=0")]
    public Task Get_File_IsTheSame(string target) => CompareAsync(async client =>
    {
        await client.GetAsync(target);
        await client.SendAsync(new ClientRequest("HEAD", target));
        await client.SendAsync(ClientRequest.Get(target).With("Accept-Encoding", "gzip, br"));
    });

    [Theory]
    [InlineData("/files/numbers.txt")]
    [InlineData("/numbers.txt")]
    [InlineData("/download")]
    public Task Get_Range_IsTheSame(string target) => CompareAsync(async client =>
    {
        foreach (var range in (string[])[
            "bytes=0-0", "bytes=70000-70099", "bytes=-5", "bytes=500000-", "bytes=5-1", "bytes=0-1,4-5"])
            await client.SendAsync(ClientRequest.Get(target).With("Range", range));
    });

    [Theory]
    [InlineData("/files/numbers.txt")]
    [InlineData("/site.css")]
    [InlineData("/download")]
    public Task Get_Conditional_IsTheSame(string target) => CompareAsync(async client =>
    {
        var response = await client.GetAsync(target);
        var tag = response.GetValues("ETag").FirstOrDefault() ?? "\"none\"";
        var modified = response.GetValues("Last-Modified").FirstOrDefault() ?? "Mon, 06 May 2024 07:08:09 GMT";
        await client.SendAsync(ClientRequest.Get(target).With("If-None-Match", tag));
        await client.SendAsync(ClientRequest.Get(target).With("If-Modified-Since", modified));
        await client.SendAsync(ClientRequest.Get(target).With("If-Match", "\"other\""));
        await client.SendAsync(ClientRequest.Get(target).With("Range", "bytes=0-9").With("If-Range", tag));
    });

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    [InlineData("gzip;q=0.5, br;q=0.1")]
    [InlineData("identity")]
    [InlineData("zstd, *;q=0")]
    public Task Get_CompressedResponse_IsTheSame(string encodings) => CompareAsync(async client =>
    {
        foreach (var target in (string[])[
            "/results/json", "/results/flushed", "/results/html", "/results/events", "/results/no-content"])
            await client.SendAsync(ClientRequest.Get(target).With("Accept-Encoding", encodings));
    });

    [Fact]
    public Task Post_CompressedRequest_IsTheSame() => CompareAsync(async client =>
    {
        var text = string.Join(' ', Enumerable.Range(0, 10_000));
        foreach (var encoding in (string[])["gzip", "br", "deflate", "unknown"])
        {
            var request = ClientRequest.Post("/echo", "text/plain", text).Compress(encoding);
            await client.SendAsync(request);
            await client.SendAsync(request with { IsChunked = true });
        }

        await client.SendAsync(ClientRequest.Post("/body/small", "text/plain", new string('x', 1000)).Compress("gzip"));
        await client.SendAsync(
            ClientRequest.Post("/echo", "text/plain", "not compressed").With("Content-Encoding", "gzip"));
    });
}
