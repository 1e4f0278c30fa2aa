namespace FastCgi.AspNetCore.ParityTests;

/// <summary>Blazor's static rendering on the server.</summary>
public sealed class BlazorTests(ParitySites sites) : ParityTest(sites)
{
    private const string Token = "__RequestVerificationToken";

    // As blazor.web.js asks for it.
    private const string Enhanced = "text/html; blazor-enhanced-nav=on";

    [Theory]
    [InlineData("/blazor?text=a%20b")]
    [InlineData("/blazor/streaming")]
    [InlineData("/blazor/missing")]
    [InlineData("/blazor/nowhere")]
    [InlineData("/base/blazor")]
    public Task Get_Page_IsTheSame(string target) => CompareAsync(async client =>
    {
        await client.GetAsync(target);
        await client.SendAsync(ClientRequest.Get(target).With("Accept", Enhanced));
        await client.SendAsync(ClientRequest.Get(target).With("Accept-Encoding", "gzip"));
    });

    [Fact]
    public Task Post_Form_IsTheSame() => CompareAsync(async client =>
    {
        var page = await client.GetAsync("/blazor/feedback");
        var token = page.GetHiddenField(Token);
        foreach (var accept in (string[])["text/html", Enhanced])
        {
            await PostAsync(("_handler", "feedback"), ("Entry.Text", "good ü"), (Token, token));
            await PostAsync(("_handler", "feedback"), ("Entry.Text", string.Empty), (Token, token));
            await PostAsync(("_handler", "leave"), (Token, token));
            await PostAsync(("_handler", "unknown"), (Token, token));
            await PostAsync(("_handler", "leave"));

            Task PostAsync(params (string Name, string Value)[] fields)
                => client.SendAsync(ClientRequest.PostForm("/blazor/feedback", fields).With("Accept", accept));
        }
    });
}
