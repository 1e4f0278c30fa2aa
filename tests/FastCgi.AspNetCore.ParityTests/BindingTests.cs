using System.Text;
using FastCgi.AspNetCore.ParityTests.Comparison;
using FastCgi.AspNetCore.ParityTests.Http;
using FastCgi.AspNetCore.ParityTests.Sites;

namespace FastCgi.AspNetCore.ParityTests;

/// <summary>What the handlers of a minimal API take from a request.</summary>
public sealed class BindingTests(ParitySites sites) : ParityTest(sites)
{
    private const string Json = "application/json";
    private const string Order = """{"name":"Ada ü","count":3,"price":1.5,"when":"2024-05-06T07:08:09+02:00"}""";

    [Theory]
    [InlineData("/bind/route/12/name")]
    [InlineData("/bind/route/12")]
    [InlineData("/bind/route/twelve")]
    [InlineData("/bind/rest/a/b%20c/%C3%BC/a%2Fb")]
    [InlineData("/bind/rest/")]
    [InlineData("/bind/query?text=a+b%20c&number=1&numbers=1&numbers=2&texts=x&texts=&when=2024-05-06&flag=true&amount=1.5")]
    [InlineData("/bind/query?text=&number=1&flag=false&id=5f0c9a36-6f1c-4f3b-9f57-0d9d3ad0e8d1")]
    [InlineData("/bind/query?number=one&flag=true")]
    [InlineData("/bind/query")]
    [InlineData("/bind/cookies")]
    [InlineData("/bind/services")]
    [InlineData("/bind/parameters/x?q=text")]
    [InlineData("/bind/parsed/3,4")]
    [InlineData("/bind/parsed/none")]
    [InlineData("/bind/bound?page=3")]
    [InlineData("/bind/bound")]
    [InlineData("/bind/context")]
    [InlineData("/group/somebody")]
    [InlineData("/group/nobody")]
    [InlineData("/group/somebody/orders/5")]
    [InlineData("/group/somebody/orders/50")]
    [InlineData("/group/somebody/orders/0")]
    [InlineData("/nowhere")]
    public Task Get_AnySource_BindsTheSame(string target) => CompareAsync(client => client.GetAsync(target));

    [Fact]
    public Task Get_Headers_BindTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/bind/header").With("X-Number", "5").With("X-Text", "one"));
        await client.SendAsync(ClientRequest.Get("/bind/header").With("X-Number", "five").With("X-Text", "one, two"));
        await client.SendAsync(ClientRequest.Get("/bind/header"));
        await client.SendAsync(ClientRequest.Get("/bind/parameters/1?q=2").With("User-Agent", "Parity/1.0 (tests; ü)"));
        await client.SendAsync(ClientRequest.Get("/bind/cookies").With("Cookie", "a=1; b=x%20y; c=\"quoted\"; d="));
    });

    [Theory]
    [InlineData("POST", Order)]
    [InlineData("PUT", Order)]
    [InlineData("PATCH", Order)]
    [InlineData("DELETE", Order)]
    [InlineData("POST", """{"name":"Ada","count":""")]
    [InlineData("POST", """{"name":"Ada","count":"three"}""")]
    [InlineData("POST", "null")]
    [InlineData("POST", "")]
    public Task Send_Json_BindsTheSame(string method, string body) => CompareAsync(
        client => client.SendAsync(ClientRequest.Post("/bind/json", Json, body) with { Method = method }));

    [Fact]
    public Task Post_JsonInChunks_BindsTheSame() => CompareAsync(
        client => client.SendAsync(ClientRequest.Post("/bind/json", Json, Order) with { IsChunked = true }));

    [Fact]
    public Task Post_JsonOfAnotherKind_IsRefusedTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Post("/bind/json", "text/plain", Order));
        await client.SendAsync(ClientRequest.Post("/bind/json", "application/vnd.order+json; charset=utf-8", Order));
        await client.SendAsync(new ClientRequest("POST", "/bind/json") { Body = [] });
    });

    [Fact]
    public Task Post_OptionalJson_BindsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Post("/bind/json-optional", Json, Order));
        await client.SendAsync(ClientRequest.Post("/bind/json-optional", Json, string.Empty));
        await client.SendAsync(new ClientRequest("POST", "/bind/json-optional") { Body = [] });
    });

    [Fact]
    public Task Post_ValidatedJson_IsCheckedTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Post("/bind/validated", Json, """{"name":"Ada","count":3}"""));
        await client.SendAsync(ClientRequest.Post("/bind/validated", Json, """{"name":"much too long a name","count":30}"""));
        await client.SendAsync(ClientRequest.Post("/bind/validated", Json, "{}"));
    });

    [Theory]
    [InlineData("/bind/stream", 0)]
    [InlineData("/bind/stream", 10)]
    [InlineData("/bind/stream", 300_000)]
    [InlineData("/bind/pipe", 0)]
    [InlineData("/bind/pipe", 300_000)]
    [InlineData("/bind/bytes", 70_000)]
    [InlineData("/bind/text", 20_000)]
    [InlineData("/bind/twice", 100_000)]
    [InlineData("/bind/synchronous", 10)]
    [InlineData("/bind/unread", 10)]
    [InlineData("/bind/unread", 200_000)]
    public Task Post_RawBody_IsReadTheSame(string target, int length) => CompareAsync(async client =>
    {
        var request = ClientRequest.Post(target, "application/octet-stream", new string('x', length));
        await client.SendAsync(request);
        await client.SendAsync(request with { IsChunked = true });
    });

    [Fact]
    public Task Post_Form_BindsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.PostForm("/bind/form", ("name", "Ada ü&="), ("count", "3"), ("tags", "1"), ("tags", "2")));
        await client.SendAsync(ClientRequest.PostForm("/bind/form", ("name", "Ada"), ("count", "three")));
        await client.SendAsync(ClientRequest.PostForm("/bind/form-object", ("Name", "Ada"), ("Count", "3"), ("Price", "1.5"), ("When", "2024-05-06")));
        await client.SendAsync(ClientRequest.PostForm("/bind/form-collection", ("b", "1"), ("a", "2"), ("b", "3")));
        await client.SendAsync(ClientRequest.PostForm("/bind/form-collection"));
        await client.SendAsync(ClientRequest.Post("/bind/form", "application/json", "{}"));
    });

    [Fact]
    public Task Post_Files_BindTheSame() => CompareAsync(async client =>
    {
        var files = new MultipartBody().AddField("note", "two files ü").AddFile("first", "a ü.txt", "text/plain", "the first"u8).AddFile(
            "second", "b.bin", "application/octet-stream", Encoding.ASCII.GetBytes(new string('b', 150_000)));
        await client.SendAsync(files.Post("/bind/files"));
        await client.SendAsync(files.Post("/bind/files") with { IsChunked = true });
        await client.SendAsync(new MultipartBody().AddFile("file", "one.txt", "text/plain; charset=utf-8", "one"u8).Post("/bind/file"));
        await client.SendAsync(new MultipartBody().AddField("file", "no file").Post("/bind/file"));
        await client.SendAsync(ClientRequest.Post("/bind/file", "multipart/form-data; boundary=x", "--x\r\nnot a part"));
    });
}
