namespace FastCgi.AspNetCore.ParityTests;

/// <summary>Controllers, views and Razor Pages.</summary>
public sealed class MvcTests(ParitySites sites) : ParityTest(sites)
{
    private const string Token = "__RequestVerificationToken";
    private const string Json = "application/json";

    [Theory]
    [InlineData("/products/7")]
    [InlineData("/products/700")]
    [InlineData("/products/seven")]
    [InlineData("/products/text")]
    [InlineData("/products/search?page=2&tags=a&tags=b")]
    [InlineData("/products/search?page=two")]
    [InlineData("/links")]
    [InlineData("/base/links")]
    public Task Get_Api_IsTheSame(string target) => CompareAsync(client => client.GetAsync(target));

    [Fact]
    public Task Get_NegotiatedContent_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/products/7").With("Accept", "text/xml"));
        await client.SendAsync(
            ClientRequest.Get("/products/text").With("Accept", "text/plain;q=0.1, application/json"));
        await client.SendAsync(ClientRequest.Get("/products/search?page=1").With("X-Filter", "new"));
        await client.SendAsync(new ClientRequest("HEAD", "/products/7"));
    });

    [Fact]
    public Task Send_ApiChanges_AreTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Post("/products", Json, """{"name":"Engine","price":10}"""));
        await client.SendAsync(
            ClientRequest.Post("/products", Json, """{"name":"A name that is much too long","price":-1}"""));
        await client.SendAsync(ClientRequest.Post("/products", Json, "{"));
        await client.SendAsync(ClientRequest.Post("/products", Json, string.Empty));
        await client.SendAsync(ClientRequest.Post("/products", "text/csv", "a,b"));
        await client.SendAsync(
            ClientRequest.Post("/products/7", Json, """{"name":"Engine","price":10}""") with { Method = "PUT" });
        await client.SendAsync(ClientRequest.Post("/products/7", Json, new string(' ', 201)) with { Method = "PUT" });
        await client.SendAsync(new ClientRequest("DELETE", "/products/7"));
        await client.SendAsync(new ClientRequest("DELETE", "/products/0"));
        await client.SendAsync(new ClientRequest("PATCH", "/products/7"));
    });

    [Fact]
    public Task Post_FormOfAView_IsTheSame() => CompareAsync(async client =>
    {
        var page = await client.GetAsync("/guestbook");
        var token = page.GetHiddenField(Token);
        await client.SendAsync(
            ClientRequest.PostForm("/guestbook", ("Name", "A"), ("Stars", "9"), ("Text", "<b>ü</b>"), (Token, token)));
        await client.SendAsync(ClientRequest.PostForm("/guestbook", ("Name", "Ada ü"), ("Stars", "5"), (Token, token)));
        // TempData is there once.
        await client.GetAsync("/guestbook");
        await client.GetAsync("/guestbook");
    });

    [Fact]
    public Task Post_FormWithoutItsToken_IsRefusedTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.PostForm("/guestbook", ("Name", "Ada")));
        await client.GetAsync("/guestbook");
        await client.SendAsync(ClientRequest.PostForm("/guestbook", ("Name", "Ada"), (Token, "forged")));
    });

    [Fact]
    public Task Post_Upload_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(new MultipartBody().AddField("caption", "a picture").AddFile(
            "picture", "a.png", "image/png", [0x89, 0x50, 0, 255])
            .Post("/guestbook/picture"));
        await client.SendAsync(new MultipartBody().AddField("caption", "large").AddFile(
            "picture", "a.png", "image/png", new byte[100_001])
            .Post("/guestbook/picture"));
    });

    [Fact]
    public Task Post_RazorPage_IsTheSame() => CompareAsync(async client =>
    {
        var page = await client.GetAsync("/contact/a%20topic");
        var token = page.GetHiddenField(Token);
        await client.SendAsync(
            ClientRequest.PostForm("/contact/a%20topic", ("Question", string.Empty), (Token, token)));
        await client.SendAsync(ClientRequest.PostForm("/contact/a%20topic", ("Question", "Why?"), (Token, token)));
        await client.GetAsync("/contact/a%20topic");
        await client.SendAsync(ClientRequest.PostForm("/contact/a%20topic?handler=Cancel", (Token, token)));
        await client.SendAsync(ClientRequest.PostForm("/contact", ("Question", "Why?")));
        await client.GetAsync("/base/contact");
    });
}
