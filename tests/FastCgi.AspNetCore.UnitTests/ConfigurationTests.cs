using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.UnitTests;

public sealed class ConfigurationTests
{
    [Fact]
    public void Configure_NoSection_Defaults()
    {
        var options = Configure("{}");

        Assert.Equal(30_000_000, options.Limits.MaxRequestBodySize);
        Assert.Empty(options.ListenOptions);
    }

    [Theory]
    [InlineData("AllowUnverifiedClientCertificate", "true", true)]
    [InlineData("AllowSynchronousIO", "TRUE", true)]
    [InlineData("PathBase", "/app/", "/app")]
    [InlineData("PATHSOURCE", "scriptNameAndPathInfo", FastCgiPathSource.ScriptNameAndPathInfo)]
    [InlineData("TrustScriptName", "true", true)]
    [InlineData("TraceIdentifierParameter", "REQUEST_ID", "REQUEST_ID")]
    [InlineData("PingPath", "/ping", "/ping")]
    [InlineData("SlowRequestThreshold", "00:00:03", "00:00:03")]
    [InlineData("Limits:maxrequestbodysize", "9000000000", 9_000_000_000)]
    [InlineData("LIMITS:LingerTimeout", "00:00:00.5", "00:00:00.5000000")]
    public void Configure_Value_IsSet(string name, string value, object expected)
    {
        var options = Configure("fastcgi:" + name, value);

        var owner = name.Contains(':') ? (object)options.Limits : options;
        var actual = owner.GetType().GetProperty(
            name.Split(':')[^1],
            BindingFlags.Public | BindingFlags.Instance | BindingFlags.IgnoreCase)!.GetValue(owner);
        Assert.Equal(expected, actual is TimeSpan time ? time.ToString() : actual);
    }

    [Fact]
    public void Configure_Groups_AreSet()
    {
        var options = Configure("""
            {
              "FastCgi": {
                "Roles": [ "Responder", "authorizer" ],
                "Limits": { "MinRequestBodyDataRate": { "BytesPerSecond": 0.5, "GracePeriod": "00:00:09" } },
                "Endpoints": {
                  "Site": { "Url": "fastcgi://localhost:9000", "Backlog": 12 },
                  "Local": {
                    "Url": "fastcgi://unix:/run/app.sock", "Mode": "0660", "Owner": "app", "Group": "www-data",
                    "CreateDirectory": true
                  }
                }
              }
            }
            """);

        Assert.Equal([FastCgiRole.Responder, FastCgiRole.Authorizer], options.Roles.Order());
        var rate = options.Limits.MinRequestBodyDataRate!;
        Assert.Equal((0.5, TimeSpan.FromSeconds(9)), (rate.BytesPerSecond, rate.GracePeriod));
        Assert.Equal(
            [("fastcgi://unix:/run/app.sock", 4_096), ("fastcgi://127.0.0.1:9000", 12), ("fastcgi://[::1]:9000", 12)],
            options.ListenOptions.Select(static endpoint => (endpoint.ToString(), endpoint.Backlog)));
        var listen = options.ListenOptions[0];
        Assert.Equal(
            UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.GroupWrite,
            listen.Mode);
        Assert.Equal(("app", "www-data", true), (listen.Owner, listen.Group, listen.CreateDirectory));
    }

    [Fact]
    public void Configure_Peers_AsListOrWithCommas()
    {
        var options = Configure("""
            { "FastCgi": { "Endpoints": {
              "A": { "Url": "fastcgi://*:9000", "AllowedAddresses": [ "192.0.2.1", "10.0.0.0/8" ] },
              "B": {
                "Url": "fastcgi://unix:/run/app.sock", "AllowedUsers": "www-data, 33", "AllowedGroups": "www-data"
              }
            } } }
            """);

        Assert.Equal(["192.0.2.1", "10.0.0.0/8"], options.ListenOptions[0].AllowedAddresses);
        Assert.Equal(["www-data", "33"], options.ListenOptions[1].AllowedUsers);
        Assert.Equal(["www-data"], options.ListenOptions[1].AllowedGroups);
    }

    /// <summary>A new property of the limits must be given a name in the configuration.</summary>
    [Fact]
    public void Configure_EachLimitOfTheClass_HasItsNameInTheConfiguration()
    {
        foreach (var property in typeof(FastCgiServerLimits).GetProperties(
            BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly))
        {
            if (property.PropertyType == typeof(MinDataRate))
            {
                var rate = (MinDataRate)property.GetValue(
                    Configure($"FastCgi:Limits:{property.Name}:BytesPerSecond", "7").Limits)!;
                Assert.Equal((7, TimeSpan.FromSeconds(5)), (rate.BytesPerSecond, rate.GracePeriod));
                continue;
            }

            var isTime = property.PropertyType == typeof(TimeSpan) || property.PropertyType == typeof(TimeSpan?);
            var options = Configure("FastCgi:Limits:" + property.Name, isTime ? "00:00:07" : "7");

            var value = property.GetValue(options.Limits);
            Assert.Equal(
                isTime ? TimeSpan.FromSeconds(7) : 7L,
                isTime ? value : Convert.ToInt64(value, CultureInfo.InvariantCulture));
        }
    }

    [Fact]
    public void Configure_SendFile_RootsAndHeadersAreSet()
    {
        var options = Configure("""
            {
              "FastCgi": {
                "SendFile": {
                  "Roots": {
                    "Files": { "Path": "/srv/app/files", "Location": "/protected" },
                    "Other": { "Path": "/srv/other/" }
                  },
                  "PassedHeaders": [ "Vary", "Content-Encoding" ]
                }
              }
            }
            """);

        Assert.Equal(
            [new SendFileRoot("/srv/app/files/", "/protected/"), new SendFileRoot("/srv/other/", null)],
            options.SendFile.Roots);
        Assert.Equal(["Content-Encoding", "Vary"], options.SendFile.PassedHeaders.Order());
    }

    [Fact]
    public void Configure_NullOrEmptyLimit_IsNoLimit()
    {
        var optional = typeof(FastCgiServerLimits).GetProperties()
            .Where(
                static limit
                => !limit.PropertyType.IsValueType || Nullable.GetUnderlyingType(limit.PropertyType) is not null)
            .ToList();

        Assert.Equal(10, optional.Count);
        Assert.All(optional, static limit =>
        {
            Assert.Null(
                limit.GetValue(Configure($$"""{ "FastCgi": { "Limits": { "{{limit.Name}}": null } } }""").Limits));
            Assert.Null(limit.GetValue(Configure("FastCgi:Limits:" + limit.Name, "").Limits));
        });
    }

    [Theory]
    [InlineData(
        "FastCgi:Unknown", "FastCgi:MaxRequestBodySize", "FastCgi:Limits:Unknown", "FastCgi:Limits:PathBase",
        "FastCgi:Transport:Unknown", "FastCgi:Transport:Engine")]
    [InlineData(
        "FastCgi:Endpoints:Site:Unknown", "FastCgi:Endpoints:Site:Backlog:Unknown", "FastCgi:SendFile:Unknown",
        "FastCgi:SendFile:Roots:Files:Unknown")]
    [InlineData("FastCgi:Limits:MaxRequestBodySize:Unknown", "FastCgi:Limits:MinRequestBodyDataRate:Unknown")]
    public void Configure_UnknownName_ErrorNamesThePath(params string[] paths)
        => Assert.All(paths, static path => AssertError(path, "1", path, "is not an option"));

    [Theory]
    [InlineData("FastCgi:AllowSyncronousIO", "FastCgi:AllowSynchronousIO")]
    [InlineData("FastCgi:MaxRequestBodySize", "FastCgi:Limits:MaxRequestBodySize")]
    [InlineData("FastCgi:Limits:MaxRequestBodySzie", "FastCgi:Limits:MaxRequestBodySize")]
    [InlineData("FastCgi:Limits:MaxConnections", "FastCgi:Limits:MaxConcurrentConnections")]
    [InlineData("FastCgi:Limits:RequestHeadersTimeout", "FastCgi:Limits:RequestParametersTimeout")]
    [InlineData("FastCgi:Limits:MaxRequestHeaderCount", "FastCgi:Limits:MaxRequestParameterCount")]
    [InlineData("FastCgi:Limits:PathBase", "FastCgi:PathBase")]
    [InlineData(
        "FastCgi:Limits:MinRequestBodyDataRate:BytesPerSec", "FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond")]
    [InlineData("FastCgi:Role", "FastCgi:Roles")]
    [InlineData("FastCgi:Endpoint", "FastCgi:Endpoints")]
    [InlineData("FastCgi:Endpoints:Site:Bakclog", "FastCgi:Endpoints:Site:Backlog")]
    [InlineData("FastCgi:Endpoints:Site:AllowedAdresses", "FastCgi:Endpoints:Site:AllowedAddresses")]
    [InlineData("FastCgi:Mode", "FastCgi:Endpoints:NAME:Mode")]
    [InlineData("FastCgi:SendFile:Root", "FastCgi:SendFile:Roots")]
    [InlineData("FastCgi:SendFile:Roots:Files:Paht", "FastCgi:SendFile:Roots:Files:Path")]
    public void Configure_NameLikeAnother_ErrorNamesThatOne(string path, string meant)
        => AssertError(path, "1", path, $"Did you mean {meant}?");

    [Theory]
    [InlineData("FastCgi:AllowSynchronousIO", "yes")]
    [InlineData("FastCgi:PathBase", "app")]
    [InlineData("FastCgi:PathSource", "", "Somewhere", "7", "RequestUri, DocumentUri")]
    [InlineData("FastCgi:TrustScriptName", "PathInfo")]
    [InlineData("FastCgi:Roles", "Authorizer")]
    [InlineData("FastCgi:Roles:0", "Accelerator")]
    [InlineData("FastCgi:Transport", "Epoll")]
    [InlineData("FastCgi:Transport:ApplicationScheduling", "Sometimes")]
    [InlineData("FastCgi:Transport:LoopCount", "0")]
    [InlineData("FastCgi:SendFile:Roots:Files", "/srv/files")]
    [InlineData("FastCgi:SendFile:Roots:Files:Path", "files")]
    [InlineData("FastCgi:Limits", "5")]
    [InlineData("FastCgi:Limits:MaxConcurrentRequests", "many")]
    [InlineData("FastCgi:Limits:RequestQueueLimit", "-1", "")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate", "240")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond", "0", "fast", "NaN", "Infinity")]
    [InlineData("FastCgi:Limits:MaxRequestsPerConnection", "65536")]
    [InlineData("FastCgi:Limits:MaxRequestParametersTotalSize", "3000000000")]
    [InlineData("FastCgi:Limits:MaxRequestParameterCount", "1.5")]
    [InlineData("FastCgi:Limits:MaxRequestBodySize", "-1", "30MB", "99999999999999999999")]
    [InlineData("FastCgi:Limits:MaxResponseBufferSize", "1,000")]
    [InlineData("FastCgi:Limits:RequestParametersTimeout", "00:00:00", "30s")]
    [InlineData("FastCgi:Limits:LingerTimeout", "")]
    [InlineData("FastCgi:Endpoints", "fastcgi://127.0.0.1:9000")]
    [InlineData("FastCgi:Endpoints:Site:Backlog", "0")]
    [InlineData("FastCgi:Endpoints:Site:Mode", "rw-rw----", "668", "66", "4660", "")]
    [InlineData("FastCgi:Endpoints:Site:CreateDirectory", "yes")]
    [InlineData("FastCgi:Endpoints:Site:AllowedAddresses", "")]
    [InlineData("FastCgi:Endpoints:Site:Url", "http://*:80", "fastcgi://127.0.0.1")]
    public void Configure_BadValue_ErrorNamesThePathAndTheValue(string path, params string[] values)
        => Assert.All(values, value => AssertError(path, value, $"{path} = '{value}'", "is not valid: "));

    [Fact]
    public void Configure_EndpointWithoutUrl_ErrorNamesThePath()
    {
        var error = Assert.Throws<InvalidOperationException>(() => Configure("FastCgi:Endpoints:Site:Backlog", "5"));

        Assert.Contains("FastCgi:Endpoints:Site has no Url", error.Message);
    }

    [Theory]
    [InlineData("240", "00:00:01", "GracePeriod = '00:00:01'")]
    [InlineData("240", "5", "GracePeriod = '5'")]
    [InlineData(null, "00:00:05", "BytesPerSecond = '' is not valid: a value is missing.")]
    public void Configure_InvalidRate_ErrorNamesPathAndValue(string? rate, string grace, string text)
    {
        const string Path = "FastCgi:Limits:MinRequestBodyDataRate:";
        var settings = new Dictionary<string, string?> { [Path + "GracePeriod"] = grace };
        if (rate is not null)
            settings[Path + "BytesPerSecond"] = rate;
        var error = Assert.Throws<InvalidOperationException>(
            () => Configure(new ConfigurationBuilder().AddInMemoryCollection(settings).Build()));

        Assert.Contains(Path + text, error.Message);
    }

    private static void AssertError(string path, string value, params string[] texts)
    {
        var settings = new Dictionary<string, string?>
        {
            ["FastCgi:Endpoints:Site:Url"] = "fastcgi://127.0.0.1:9000",
            [path] = value,
        };
        var error = Assert.Throws<InvalidOperationException>(
            () => Configure(new ConfigurationBuilder().AddInMemoryCollection(settings).Build()));

        Assert.All(texts, text => Assert.Contains(text, error.Message));
    }

    private static FastCgiServerOptions Configure(string path, string value)
        => Configure(new ConfigurationBuilder().AddInMemoryCollection([new(path, value)]).Build());

    private static FastCgiServerOptions Configure(string json)
    {
        using var stream = new MemoryStream(Encoding.UTF8.GetBytes(json));
        return Configure(new ConfigurationBuilder().AddJsonStream(stream).Build());
    }

    private static FastCgiServerOptions Configure(IConfiguration configuration)
    {
        var options = new FastCgiServerOptions();
        new FastCgiServerOptionsSetup(configuration).Configure(options);
        return options;
    }
}
