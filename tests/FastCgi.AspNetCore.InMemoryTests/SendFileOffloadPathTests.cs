namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Which file it is that the web server is told, by its path.</summary>
public sealed class SendFileOffloadPathTests : SendFileOffloadTest
{
    [Theory]
    [InlineData("ä.txt", "/protected/%C3%A4.txt")]
    [InlineData("100%.txt", "/protected/100%25.txt")]
    [InlineData("a?b#c;d+e&f.txt", "/protected/a%3Fb%23c%3Bd%2Be%26f.txt")]
    [InlineData("deep/down/..x", "/protected/deep/down/..x")]
    [InlineData("back\\slash", "/protected/back%5Cslash")]
    [InlineData("line\r\nSet-Cookie: a=b", "/protected/line%0D%0ASet-Cookie%3A%20a%3Db")]
    [InlineData("\U0001F600", "/protected/%F0%9F%98%80")]
    public async Task Offload_AnyName_IsEscaped(string name, string expected)
    {
        var path = Folder.Write("site/" + name, new byte[Length]);

        var response = await GetAsync(UseNginx, context => SendAsync(context, path));

        Assert.Equal(expected, response["X-Accel-Redirect"]);
    }

    [Theory]
    [InlineData("a?b#c;d+e&f.txt", true)]
    [InlineData("100%.txt", false)]
    [InlineData("ä.txt", false)]
    [InlineData("line\r\nSet-Cookie: a=b", false)]
    [InlineData("blank ", false)]
    public async Task Offload_XSendfileOfAnyName_OnlyIfItIsReadAlike(string name, bool isOffloaded)
    {
        var path = Folder.Write("site/" + name, Apps.Pattern(Length));

        var response = await GetAsync(options => options.AddXSendFile(Root), context => SendAsync(context, path));

        Assert.Equal(isOffloaded ? path : null, response["X-Sendfile"]);
        Assert.Equal(isOffloaded ? 0 : Length, response.Body.Length);
    }

    [Theory, Values("/protected", "/protected/")]
    public async Task Offload_LocationAndRoot_WithAndWithoutSlash(string location)
    {
        foreach (var root in new[] { Root, Root + "/", Root + "/../site" })
        {
            var response = await GetAsync(options => options.AddXAccelRedirect(root, location), Whole);
            Assert.Equal("/protected/a%20file.bin", response["X-Accel-Redirect"]);
        }
    }

    [Fact]
    public async Task Offload_RootsWithinEachOther_InnerCounts()
    {
        var path = Folder.Write("site/inner/file", new byte[Length]);

        var response = await GetAsync(
            options =>
            {
                options.AddXAccelRedirect(Root, "/outer/");
                options.AddXAccelRedirect(Root + "/inner", "/inner/");
            },
            context => SendAsync(context, path));

        Assert.Equal("/inner/file", response["X-Accel-Redirect"]);
    }

    [Fact]
    public async Task Offload_LocationIsTheSite_IsEscaped()
        => Assert.Equal("/my%20files/a%20file.bin", (await GetAsync(options => options.AddXAccelRedirect(Root, "/my files/"), Whole))["X-Accel-Redirect"]);

    [Fact]
    public async Task Offload_OutsideTheRoots_Streamed()
    {
        var inside = FilePath;
        foreach (var path in new[] { Folder.Write("other", Apps.Pattern(Length)), Folder.Write("site2/file", Apps.Pattern(Length)), Root + "/../site/" + Path.GetFileName(inside) })
            AssertStreamed(await GetAsync(UseNginx, context => SendAsync(context, path)));
    }

    [Fact]
    public async Task Offload_LinkBelowTheRoot_Streamed()
    {
        var outside = Folder.Write("secret/file", Apps.Pattern(Length));
        File.CreateSymbolicLink(Root + "/link", outside);
        Directory.CreateSymbolicLink(Root + "/folder", Path.GetDirectoryName(outside)!);

        AssertStreamed(await GetAsync(UseNginx, context => SendAsync(context, Root + "/link")));
        AssertStreamed(await GetAsync(UseNginx, context => SendAsync(context, Root + "/folder/file")));
    }

    [Fact]
    public async Task Offload_RootIsALink_Offloaded()
    {
        Directory.CreateSymbolicLink(Folder.GetPath("current"), Root);

        var response = await GetAsync(
            options => options.AddXAccelRedirect(Folder.GetPath("current"), "/protected/"),
            context => SendAsync(context, Folder.GetPath("current/a file.bin")));

        Assert.NotNull(response["X-Accel-Redirect"]);
    }
}
