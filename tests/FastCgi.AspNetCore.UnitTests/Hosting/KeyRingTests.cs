using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.DataProtection.KeyManagement;
using Microsoft.Extensions.DependencyInjection;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>Keys that do not outlive the process are told of where they are used, and no usual folder nor one of the application's is there.</summary>
public sealed class KeyRingTests
{
    [Theory]
    [InlineData(true, false, false, true)]
    [InlineData(true, true, false, false)]
    [InlineData(true, false, true, false)]
    [InlineData(false, false, false, false)]
    public void Keys_WithoutAFolder_AreReported(bool areUsed, bool hasUsualFolder, bool hasOwnFolder, bool isReported)
    {
        if (OperatingSystem.IsWindows())
            return;

        using var folder = new ScratchFolder();
        var services = new ServiceCollection();
        if (areUsed)
            services.AddDataProtection();
        if (hasOwnFolder)
            services.AddDataProtection().PersistKeysToFileSystem(new DirectoryInfo(folder.Path));
        using var provider = services.BuildServiceProvider();
        using var logs = new CollectedLogs();

        KeyRing.Report(provider, () => hasUsualFolder ? new DirectoryInfo(folder.Path) : null, logs.CreateLogger("FastCgi.AspNetCore"));

        Assert.Equal(isReported ? ["KeysInMemory"] : [], logs.All.Where(static log => log.Level == LogLevel.Warning).Select(static log => log.EventName));
        Assert.All(logs.All, static log => Assert.Contains("PersistKeysToFileSystem(", log.Message, StringComparison.Ordinal));
    }

    [Fact]
    public void Keys_SettingsOfTheApplicationThrow_NothingIsReported()
    {
        var services = new ServiceCollection();
        services.AddDataProtection();
        services.Configure<KeyManagementOptions>(static _ => throw new InvalidOperationException());
        using var provider = services.BuildServiceProvider();
        using var logs = new CollectedLogs();

        KeyRing.Report(provider, static () => null, logs.CreateLogger("FastCgi.AspNetCore"));

        Assert.Empty(logs.All);
    }
}
