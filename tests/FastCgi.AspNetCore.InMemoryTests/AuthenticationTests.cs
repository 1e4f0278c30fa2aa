using System.Security.Claims;
using FastCgi.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The user whom the web server has authenticated.</summary>
public class AuthenticationTests
{
    /// <summary>
    /// The stock configuration of nginx passes the name in any Authorization header, unchecked, and without AUTH_TYPE.
    /// </summary>
    [Theory]
    [InlineData("REMOTE_USER=jane AUTH_TYPE=Basic", "", "jane", "Basic")]
    [InlineData("REMOTE_USER= AUTH_TYPE=Basic", "", null, null)]
    [InlineData("AUTH_TYPE=Basic", "", null, null)]
    [InlineData("REMOTE_USER=jane", "", null, null)]
    [InlineData("REMOTE_USER=jane AUTH_TYPE=", "", null, null)]
    [InlineData("REMOTE_USER=jane", "unverified", "jane", "FastCgi")]
    [InlineData("SSL_CLIENT_S_DN_CN=Jane SSL_PROTOCOL=TLSv1.3", "TLS", "Jane", "TLSv1.3")]
    [InlineData("REMOTE_USER=jane AUTH_TYPE=Basic", "no scheme", null, null)]
    public async Task User_OfTheParameters_IsThatOrAnonymous(
        string parameters, string options, string? name, string? type)
    {
        var user = await AuthenticateAsync(
            scheme =>
            {
                scheme.RequireAuthenticationType = options != "unverified";
                if (options == "TLS")
                    (scheme.UserNameParameter, scheme.AuthenticationTypeParameter) =
                        ("SSL_CLIENT_S_DN_CN", "SSL_PROTOCOL");
            },
            hasScheme: options != "no scheme",
            [.. parameters.Split(' ').Select(static pair => (pair.Split('=')[0], pair.Split('=')[1]))]);

        Assert.Equal(
            (name, type, name is not null),
            (user.Identity!.Name, user.Identity.AuthenticationType, user.Identity.IsAuthenticated));
        Assert.Equal(name, user.FindFirstValue(ClaimTypes.NameIdentifier));
        Assert.All(
            user.Claims,
            static claim => Assert.Equal(FastCgiAuthenticationDefaults.AuthenticationScheme, claim.Issuer));
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
        Assert.Equal(LogLevel.Information, told.Level);
        Assert.Contains($"Add {line}, ", told.Message);
        Assert.DoesNotContain("jane", told.Message);
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
            hasScheme: true,
            ("REMOTE_USER", "jane"), ("AUTH_TYPE", "Basic"), ("authenticate_mail", "jane@example.test"),
            ("OIDC_CLAIM_groups", "admins, staff,,"), ("AUTHENTICATE_CN", "Jane, Client"), ("EMPTY", ""));

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
        Action<FastCgiAuthenticationOptions> configure,
        bool hasScheme,
        params (string Name, string Value)[] parameters)
    {
        var seen = Waiting.Signal<ClaimsPrincipal>();
        await using var frontEnd = await TestServer.ConnectAsync(
            app => (hasScheme ? app.UseAuthentication() : app).Run(context =>
            {
                seen.SetResult(context.User);
                return Apps.Hello(context);
            }),
            services: services =>
            {
                if (hasScheme)
                    services.AddAuthentication().AddFastCgi(configure);
            });

        Assert.Equal(200, (await frontEnd.AskAsync(RecordBytes.Get(more: parameters))).Status);
        return await seen.Task.Within("the application");
    }
}
