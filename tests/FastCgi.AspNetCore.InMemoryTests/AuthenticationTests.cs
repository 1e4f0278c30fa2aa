using System.Security.Claims;
using FastCgi.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The user whom the web server has authenticated.</summary>
public class AuthenticationTests
{
    private static readonly (string Name, string Value)[] s_jane = [("REMOTE_USER", "jane"), ("AUTH_TYPE", "Basic")];

    [Fact]
    public async Task User_WithoutTheScheme_IsAnonymous()
    {
        ClaimsPrincipal? user = null;
        var response = await TestServer.AskAsync(context =>
        {
            user = context.User;
            return Apps.Hello(context);
        }, RecordBytes.Get(more: s_jane));

        Assert.Equal(200, response.Status);
        Assert.False(user!.Identity!.IsAuthenticated);
    }

    [Fact]
    public async Task User_WithTheScheme_IsRemoteUser()
    {
        var user = await AuthenticateAsync(static _ => { }, s_jane);

        Assert.Equal(
            ("jane", "Basic", true),
            (user.Identity!.Name, user.Identity.AuthenticationType, user.Identity.IsAuthenticated));
        Assert.Equal("jane", user.FindFirstValue(ClaimTypes.NameIdentifier));
        Assert.All(
            user.Claims,
            static claim => Assert.Equal(FastCgiAuthenticationDefaults.AuthenticationScheme, claim.Issuer));
    }

    [Theory]
    [InlineData("", "Basic")]
    [InlineData(null, "Basic")]
    public async Task User_NameEmptyOrAbsent_IsAnonymous(string? name, string type)
    {
        (string, string)[] parameters =
            name is null ? [("AUTH_TYPE", type)] : [("REMOTE_USER", name), ("AUTH_TYPE", type)];

        Assert.False((await AuthenticateAsync(static _ => { }, parameters)).Identity!.IsAuthenticated);
    }

    /// <summary>The stock configuration of nginx passes the name in any Authorization header, unchecked.</summary>
    [Fact]
    public async Task User_WithoutAuthType_CountsOnlyIfTheOptionSaysSo()
    {
        Assert.False((await AuthenticateAsync(static _ => { }, ("REMOTE_USER", "jane"))).Identity!.IsAuthenticated);
        Assert.False((await AuthenticateAsync(
            static _ => { }, ("REMOTE_USER", "jane"), ("AUTH_TYPE", ""))).Identity!.IsAuthenticated);

        var user = await AuthenticateAsync(
            static options => options.RequireAuthenticationType = false, ("REMOTE_USER", "jane"));

        Assert.Equal(("jane", "FastCgi"), (user.Identity!.Name, user.Identity.AuthenticationType));
    }

    /// <summary>Any client can cause it, so it is logged once, and below Warning.</summary>
    [Theory]
    [InlineData("nginx/1.22.1", "fastcgi_param AUTH_TYPE Basic; next to auth_basic")]
    [InlineData("another", "the parameter AUTH_TYPE")]
    public async Task User_WithoutAuthType_LineIsNamedOnce(string software, string line)
    {
        await using var server = await TestServer.StartAsync(
            app => app.UseAuthentication().Run(Apps.Hello),
            services: static services => services.AddAuthentication("FastCgi").AddFastCgi());
        var frontEnd = server.Connect();

        foreach (var name in new[] { "jane", "joe", "" })
            await frontEnd.AskAsync(RecordBytes.Get(more: [("SERVER_SOFTWARE", software), ("REMOTE_USER", name)]));

        var told = Assert.Single(server.Logs.Named("UserNotTaken"));
        Assert.Equal(Microsoft.Extensions.Logging.LogLevel.Information, told.Level);
        Assert.Contains($"Add {line}, ", told.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("jane", told.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task User_OtherParameters_AreTaken()
    {
        var user = await AuthenticateAsync(
            static options =>
            {
                options.UserNameParameter = "SSL_CLIENT_S_DN_CN";
                options.AuthenticationTypeParameter = "SSL_PROTOCOL";
            },
            ("SSL_CLIENT_S_DN_CN", "Jane Client"),
            ("SSL_PROTOCOL", "TLSv1.3"));

        Assert.Equal(("Jane Client", "TLSv1.3"), (user.Identity!.Name, user.Identity.AuthenticationType));
    }

    [Fact]
    public async Task User_MappedParameters_AreClaims()
    {
        var user = await AuthenticateAsync(
            static options =>
            {
                options.ClaimsIssuer = "www";
                options.MapClaim("AUTHENTICATE_MAIL", ClaimTypes.Email);
                options.MapClaim("OIDC_CLAIM_groups", ClaimTypes.Role, ',');
                options.MapClaim("AUTHENTICATE_CN", ClaimTypes.GivenName);
                options.MapClaim("NOT_THERE", "absent");
                options.MapClaim("EMPTY", "absent");
            },
            [.. s_jane, ("authenticate_mail", "jane@example.test"), (
                "OIDC_CLAIM_groups", "admins, staff,,"), ("AUTHENTICATE_CN", "Jane, Client"), ("EMPTY", "")]);

        Assert.Equal("jane@example.test", user.FindFirstValue(ClaimTypes.Email));
        Assert.Equal("Jane, Client", user.FindFirstValue(ClaimTypes.GivenName));
        Assert.Equal(["admins", "staff"], user.FindAll(ClaimTypes.Role).Select(static claim => claim.Value));
        Assert.True(user.IsInRole("staff"));
        Assert.Null(user.FindFirst("absent"));
        Assert.All(user.Claims, static claim => Assert.Equal("www", claim.Issuer));
    }

    [Theory, Values("HTTP_X_REMOTE_USER", "http_remote_user", "")]
    public void Options_ParameterThatAClientCanSend_IsRefused(string parameter)
    {
        var options = new FastCgiAuthenticationOptions();

        Assert.Throws<ArgumentException>(() => options.UserNameParameter = parameter);
        Assert.Throws<ArgumentException>(() => options.AuthenticationTypeParameter = parameter);
        Assert.Throws<ArgumentException>(() => options.MapClaim(parameter, ClaimTypes.Email));
        Assert.ThrowsAny<ArgumentException>(() => options.MapClaim("NAME", ""));
        Assert.Empty(options.ClaimParameters);
    }

    [Fact]
    public async Task Challenge_Anonymous_IsPlain401()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.UseAuthentication().Run(static context => context.ChallengeAsync()),
            services: static services => services.AddAuthentication().AddFastCgi());

        var response = await frontEnd.AskAsync();
        Assert.Equal((401, null), (response.Status, response["WWW-Authenticate"]));
    }

    private static async Task<ClaimsPrincipal> AuthenticateAsync(
        Action<FastCgiAuthenticationOptions> configure, params (string Name, string Value)[] parameters)
    {
        var seen = Waiting.Signal<ClaimsPrincipal>();
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.UseAuthentication().Run(context =>
            {
                seen.SetResult(context.User);
                return Apps.Hello(context);
            }),
            services: services => services.AddAuthentication().AddFastCgi(configure));

        Assert.Equal(200, (await frontEnd.AskAsync(RecordBytes.Get(more: parameters))).Status);
        return await seen.Task.Within("the application");
    }
}
