using System.Globalization;
using System.Reflection;
using System.Text;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Configuration;

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

    [Fact]
    public void Configure_EveryName_IsSet()
    {
        var options = Configure("""
            {
              "FastCgi": {
                "AllowUnverifiedClientCertificate": true,
                "AllowSynchronousIO": true,
                "PathBase": "/app/",
                "PathSource": "DocumentUri",
                "TrustScriptName": true,
                "TraceIdentifierParameter": "REQUEST_ID",
                "PingPath": "/ping",
                "SlowRequestThreshold": "00:00:03",
                "Roles": [ "Authorizer", "filter" ],
                "ReservedPaths": [ "/health", "/status/" ],
                "Limits": {
                  "MaxConcurrentConnections": 1,
                  "MaxConcurrentRequests": 2,
                  "RequestQueueLimit": 3,
                  "RequestQueueTimeout": "00:00:06",
                  "MaxReservedRequests": 12,
                  "MinRequestBodyDataRate": { "BytesPerSecond": 0.5, "GracePeriod": "00:00:09" },
                  "MaxRequestsPerConnection": 4,
                  "MaxRequestParametersTotalSize": 5,
                  "MaxRequestParameterCount": 6,
                  "MaxRequestBodySize": 9000000000,
                  "MaxRequestBufferSize": 8,
                  "MaxResponseBufferSize": 9,
                  "MaxStandardErrorSize": 11,
                  "RequestParametersTimeout": "00:00:10",
                  "UnreadBodyTimeout": "00:00:07",
                  "SendTimeout": "00:00:08",
                  "KeepAliveTimeout": "00:01:30",
                  "LingerTimeout": "00:00:00.5"
                },
                "Endpoints": {
                  "Site": { "Url": "fastcgi://localhost:9000", "Backlog": 12 },
                  "Local": { "Url": "fastcgi://unix:/run/app.sock" }
                }
              }
            }
            """);

        Assert.True(options.AllowUnverifiedClientCertificate);
        Assert.True(options.AllowSynchronousIO);
        Assert.Equal("/app", options.PathBase);
        Assert.Equal(FastCgiPathSource.DocumentUri, options.PathSource);
        Assert.True(options.TrustScriptName);
        Assert.Equal("REQUEST_ID", options.TraceIdentifierParameter);
        Assert.Equal("/ping", options.PingPath);
        Assert.Equal(TimeSpan.FromSeconds(3), options.SlowRequestThreshold);
        Assert.Equal([FastCgiRole.Authorizer, FastCgiRole.Filter], options.Roles.Order());
        Assert.Equal(1, options.Limits.MaxConcurrentConnections);
        Assert.Equal(2, options.Limits.MaxConcurrentRequests);
        Assert.Equal(3, options.Limits.RequestQueueLimit);
        Assert.Equal(["/health", "/status"], options.ReservedPaths);
        Assert.Equal(TimeSpan.FromSeconds(6), options.Limits.RequestQueueTimeout);
        Assert.Equal(12, options.Limits.MaxReservedRequests);
        Assert.Equal(0.5, options.Limits.MinRequestBodyDataRate!.BytesPerSecond);
        Assert.Equal(TimeSpan.FromSeconds(9), options.Limits.MinRequestBodyDataRate.GracePeriod);
        Assert.Equal(4, options.Limits.MaxRequestsPerConnection);
        Assert.Equal(5, options.Limits.MaxRequestParametersTotalSize);
        Assert.Equal(6, options.Limits.MaxRequestParameterCount);
        Assert.Equal(9_000_000_000, options.Limits.MaxRequestBodySize);
        Assert.Equal(8, options.Limits.MaxRequestBufferSize);
        Assert.Equal(9, options.Limits.MaxResponseBufferSize);
        Assert.Equal(11, options.Limits.MaxStandardErrorSize);
        Assert.Equal(TimeSpan.FromSeconds(10), options.Limits.RequestParametersTimeout);
        Assert.Equal(TimeSpan.FromSeconds(7), options.Limits.UnreadBodyTimeout);
        Assert.Equal(TimeSpan.FromSeconds(8), options.Limits.SendTimeout);
        Assert.Equal(TimeSpan.FromSeconds(90), options.Limits.KeepAliveTimeout);
        Assert.Equal(TimeSpan.FromMilliseconds(500), options.Limits.LingerTimeout);
        Assert.Equal(
            [("fastcgi://unix:/run/app.sock", 4_096), ("fastcgi://127.0.0.1:9000", 12), ("fastcgi://[::1]:9000", 12)],
            options.ListenOptions.Select(static endpoint => (endpoint.ToString(), endpoint.Backlog)));
    }

    [Fact]
    public void Configure_Peers_AsListOrWithCommas()
    {
        var options = Configure("""
            { "FastCgi": { "Endpoints": {
              "A": { "Url": "fastcgi://*:9000", "AllowedAddresses": [ "192.0.2.1", "10.0.0.0/8" ] },
              "B": { "Url": "fastcgi://unix:/run/app.sock", "AllowedUsers": "www-data, 33", "AllowedGroups": "www-data" }
            } } }
            """);

        Assert.Equal(["192.0.2.1", "10.0.0.0/8"], options.ListenOptions[0].AllowedAddresses);
        Assert.Equal(["www-data", "33"], options.ListenOptions[1].AllowedUsers);
        Assert.Equal(["www-data"], options.ListenOptions[1].AllowedGroups);
    }

    [Fact]
    public void Configure_UnixSocket_EveryNameIsSet()
    {
        var options = Configure("""
            { "FastCgi": { "Endpoints": { "Local": {
              "Url": "fastcgi://unix:/run/app.sock", "Mode": "0660", "Owner": "app", "Group": "www-data", "CreateDirectory": true
            } } } }
            """);

        var listen = Assert.Single(options.ListenOptions);
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.GroupWrite, listen.Mode);
        Assert.Equal(("app", "www-data", true), (listen.Owner, listen.Group, listen.CreateDirectory));
    }

    /// <summary>A new property of the limits must be given a name in the configuration.</summary>
    [Fact]
    public void Configure_EachLimitOfTheClass_HasItsNameInTheConfiguration()
    {
        foreach (var property in typeof(FastCgiServerLimits).GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly))
        {
            if (property.PropertyType == typeof(MinDataRate))
            {
                var rate = (MinDataRate)property.GetValue(Configure($"FastCgi:Limits:{property.Name}:BytesPerSecond", "7").Limits)!;
                Assert.Equal((7, TimeSpan.FromSeconds(5)), (rate.BytesPerSecond, rate.GracePeriod));
                continue;
            }

            var isTime = property.PropertyType == typeof(TimeSpan) || property.PropertyType == typeof(TimeSpan?);
            var options = Configure("FastCgi:Limits:" + property.Name, isTime ? "00:00:07" : "7");

            var value = property.GetValue(options.Limits);
            Assert.Equal(isTime ? TimeSpan.FromSeconds(7) : 7L, isTime ? value : Convert.ToInt64(value, CultureInfo.InvariantCulture));
        }
    }

    [Fact]
    public void Configure_Names_InAnyCase()
    {
        Assert.Equal(7, Configure("fastcgi:LIMITS:maxrequestbodysize", "7").Limits.MaxRequestBodySize);
        Assert.True(Configure("FASTCGI:allowSynchronousIO", "TRUE").AllowSynchronousIO);
        Assert.Equal(FastCgiPathSource.ScriptNameAndPathInfo, Configure("FastCgi:PATHSOURCE", "scriptNameAndPathInfo").PathSource);
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

        Assert.Equal([new SendFileRoot("/srv/app/files/", "/protected/"), new SendFileRoot("/srv/other/", null)], options.SendFile.Roots);
        Assert.Equal(["Content-Encoding", "Vary"], options.SendFile.PassedHeaders.Order());
    }

    [Theory]
    [InlineData("MaxConcurrentConnections")]
    [InlineData("MaxConcurrentRequests")]
    [InlineData("MaxRequestBodySize")]
    [InlineData("MaxRequestBufferSize")]
    [InlineData("MaxResponseBufferSize")]
    [InlineData("MaxStandardErrorSize")]
    [InlineData("KeepAliveTimeout")]
    [InlineData("SendTimeout")]
    [InlineData("RequestQueueTimeout")]
    [InlineData("MinRequestBodyDataRate")]
    public void Configure_NullOrEmptyLimit_IsNoLimit(string name)
    {
        var property = typeof(FastCgiServerLimits).GetProperty(name)!;

        Assert.Null(property.GetValue(Configure($$"""{ "FastCgi": { "Limits": { "{{name}}": null } } }""").Limits));
        Assert.Null(property.GetValue(Configure("FastCgi:Limits:" + name, "").Limits));
    }

    [Theory]
    [InlineData("FastCgi:Unknown", "1")]
    [InlineData("FastCgi:MaxRequestBodySize", "1")]
    [InlineData("FastCgi:Limits:Unknown", "1")]
    [InlineData("FastCgi:Limits:PathBase", "/app")]
    [InlineData("FastCgi:Endpoints:Site:Unknown", "1")]
    [InlineData("FastCgi:Endpoints:Site:Backlog:Unknown", "1")]
    [InlineData("FastCgi:Limits:MaxRequestBodySize:Unknown", "1")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:Unknown", "1")]
    [InlineData("FastCgi:Transport:Unknown", "1")]
    [InlineData("FastCgi:SendFile:Unknown", "1")]
    [InlineData("FastCgi:SendFile:Roots:Files:Unknown", "1")]
    public void Configure_UnknownName_ErrorNamesThePath(string path, string value) => AssertError(path, value, path, "is not an option");

    [Theory]
    [InlineData("FastCgi:AllowSyncronousIO", "FastCgi:AllowSynchronousIO")]
    [InlineData("FastCgi:MaxRequestBodySize", "FastCgi:Limits:MaxRequestBodySize")]
    [InlineData("FastCgi:Limits:MaxRequestBodySzie", "FastCgi:Limits:MaxRequestBodySize")]
    [InlineData("FastCgi:Limits:MaxConnections", "FastCgi:Limits:MaxConcurrentConnections")]
    [InlineData("FastCgi:Limits:RequestHeadersTimeout", "FastCgi:Limits:RequestParametersTimeout")]
    [InlineData("FastCgi:Limits:MaxRequestHeaderCount", "FastCgi:Limits:MaxRequestParameterCount")]
    [InlineData("FastCgi:Limits:PathBase", "FastCgi:PathBase")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSec", "FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond")]
    [InlineData("FastCgi:ReservedPath", "FastCgi:ReservedPaths")]
    [InlineData("FastCgi:Endpoint", "FastCgi:Endpoints")]
    [InlineData("FastCgi:Endpoints:Site:Bakclog", "FastCgi:Endpoints:Site:Backlog")]
    [InlineData("FastCgi:Endpoints:Site:AllowedAdresses", "FastCgi:Endpoints:Site:AllowedAddresses")]
    [InlineData("FastCgi:Mode", "FastCgi:Endpoints:NAME:Mode")]
    [InlineData("FastCgi:Transport:Engin", "FastCgi:Transport:Engine")]
    [InlineData("FastCgi:Engine", "FastCgi:Transport:Engine")]
    [InlineData("FastCgi:SendFile:Root", "FastCgi:SendFile:Roots")]
    [InlineData("FastCgi:SendFile:Roots:Files:Paht", "FastCgi:SendFile:Roots:Files:Path")]
    public void Configure_NameLikeAnother_ErrorNamesThatOne(string path, string meant) => AssertError(path, "1", path, $"Did you mean {meant}?");

    [Theory]
    [InlineData("FastCgi:AllowSynchronousIO", "yes")]
    [InlineData("FastCgi:PathBase", "app")]
    [InlineData("FastCgi:PathSource", "")]
    [InlineData("FastCgi:PathSource", "Somewhere")]
    [InlineData("FastCgi:PathSource", "7")]
    [InlineData("FastCgi:PathSource", "RequestUri, DocumentUri")]
    [InlineData("FastCgi:TrustScriptName", "PathInfo")]
    [InlineData("FastCgi:Transport:Engine", "1")]
    [InlineData("FastCgi:Transport:ApplicationScheduling", "Sometimes")]
    [InlineData("FastCgi:Transport:LoopCount", "0")]
    [InlineData("FastCgi:Endpoints", "fastcgi://127.0.0.1:9000")]
    [InlineData("FastCgi:Limits", "5")]
    [InlineData("FastCgi:SendFile:Roots:Files:Path", "files")]
    [InlineData("FastCgi:SendFile:Roots:Files", "/srv/files")]
    [InlineData("FastCgi:Transport", "Epoll")]
    [InlineData("FastCgi:Roles", "Authorizer")]
    [InlineData("FastCgi:Roles:0", "Accelerator")]
    [InlineData("FastCgi:Limits:MaxConcurrentConnections", "0")]
    [InlineData("FastCgi:Limits:MaxConcurrentRequests", "many")]
    [InlineData("FastCgi:Limits:RequestQueueLimit", "-1")]
    [InlineData("FastCgi:Limits:RequestQueueLimit", "")]
    [InlineData("FastCgi:Limits:RequestQueueTimeout", "00:00:00")]
    [InlineData("FastCgi:Limits:MaxReservedRequests", "0")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate", "240")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond", "0")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond", "fast")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond", "NaN")]
    [InlineData("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond", "Infinity")]
    [InlineData("FastCgi:ReservedPaths", "/health")]
    [InlineData("FastCgi:ReservedPaths:0", "health")]
    [InlineData("FastCgi:ReservedPaths:0", "/")]
    [InlineData("FastCgi:Limits:MaxRequestsPerConnection", "65536")]
    [InlineData("FastCgi:Limits:MaxRequestParametersTotalSize", "3000000000")]
    [InlineData("FastCgi:Limits:MaxRequestParameterCount", "1.5")]
    [InlineData("FastCgi:Limits:MaxRequestBodySize", "-1")]
    [InlineData("FastCgi:Limits:MaxRequestBodySize", "30MB")]
    [InlineData("FastCgi:Limits:MaxRequestBodySize", "99999999999999999999")]
    [InlineData("FastCgi:Limits:MaxRequestBufferSize", "0")]
    [InlineData("FastCgi:Limits:MaxResponseBufferSize", "1,000")]
    [InlineData("FastCgi:Limits:RequestParametersTimeout", "00:00:00")]
    [InlineData("FastCgi:Limits:RequestParametersTimeout", "30s")]
    [InlineData("FastCgi:Limits:KeepAliveTimeout", "-00:00:05")]
    [InlineData("FastCgi:Limits:LingerTimeout", "")]
    [InlineData("FastCgi:Endpoints:Site:Backlog", "0")]
    [InlineData("FastCgi:Endpoints:Site:Mode", "rw-rw----")]
    [InlineData("FastCgi:Endpoints:Site:Mode", "668")]
    [InlineData("FastCgi:Endpoints:Site:Mode", "66")]
    [InlineData("FastCgi:Endpoints:Site:Mode", "4660")]
    [InlineData("FastCgi:Endpoints:Site:Mode", "")]
    [InlineData("FastCgi:Endpoints:Site:CreateDirectory", "yes")]
    [InlineData("FastCgi:Endpoints:Site:AllowedAddresses", "")]
    [InlineData("FastCgi:Endpoints:Site:Url", "http://*:80")]
    [InlineData("FastCgi:Endpoints:Site:Url", "fastcgi://127.0.0.1")]
    public void Configure_BadValue_ErrorNamesThePathAndTheValue(string path, string value)
        => AssertError(path, value, $"{path} = '{value}'", "is not valid: ");

    [Fact]
    public void Configure_EndpointWithoutUrl_ErrorNamesThePath()
    {
        var error = Assert.Throws<InvalidOperationException>(() => Configure("FastCgi:Endpoints:Site:Backlog", "5"));

        Assert.Contains("FastCgi:Endpoints:Site has no Url", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("00:00:01", "FastCgi:Limits:MinRequestBodyDataRate:GracePeriod = '00:00:01'")]
    [InlineData("5", "FastCgi:Limits:MinRequestBodyDataRate:GracePeriod = '5'")]
    public void Configure_GracePeriodThatIsNone_ErrorNamesThePathAndTheValue(string value, string text)
    {
        var settings = new Dictionary<string, string?>
        {
            ["FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond"] = "240",
            ["FastCgi:Limits:MinRequestBodyDataRate:GracePeriod"] = value,
        };
        var error = Assert.Throws<InvalidOperationException>(() => Configure(new ConfigurationBuilder().AddInMemoryCollection(settings).Build()));

        Assert.Contains(text, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Configure_GracePeriodAlone_RateIsMissed()
    {
        var error = Assert.Throws<InvalidOperationException>(() => Configure("FastCgi:Limits:MinRequestBodyDataRate:GracePeriod", "00:00:05"));

        Assert.Contains("FastCgi:Limits:MinRequestBodyDataRate:BytesPerSecond = '' is not valid: a value is missing.", error.Message, StringComparison.Ordinal);
    }

    private static void AssertError(string path, string value, params string[] texts)
    {
        var settings = new Dictionary<string, string?> { ["FastCgi:Endpoints:Site:Url"] = "fastcgi://127.0.0.1:9000", [path] = value };
        var error = Assert.Throws<InvalidOperationException>(() => Configure(new ConfigurationBuilder().AddInMemoryCollection(settings).Build()));

        Assert.All(texts, text => Assert.Contains(text, error.Message, StringComparison.Ordinal));
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
