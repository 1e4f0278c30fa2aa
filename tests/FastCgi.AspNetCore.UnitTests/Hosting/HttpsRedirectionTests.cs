using Microsoft.AspNetCore.HttpsPolicy;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class HttpsRedirectionTests
{
    /// <summary>The sources from which UseHttpsRedirection takes the port.</summary>
    [Theory]
    [InlineData("", "http://localhost", 1)]
    [InlineData("HTTPS_PORT", "http://localhost", 0)]
    [InlineData("ANCM_HTTPS_PORT", "http://localhost", 0)]
    [InlineData("", "HTTPS://localhost", 0)]
    public void Report_PortUnknown_IsLogged(string key, string address, int expected)
    {
        var logs = new CollectedLogs();
        var redirection = new HttpsRedirection();
        redirection.PostConfigure(null, new HttpsRedirectionOptions());
        var settings = new ConfigurationBuilder().AddInMemoryCollection([new(key, "443")]).Build();

        redirection.Report(settings, [address], logs.CreateLogger("test"));

        Assert.Equal(expected, logs.Find(LogLevel.Warning, "HttpsPortUnknown").Count());
    }
}
