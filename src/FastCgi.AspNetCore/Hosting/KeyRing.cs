using System.Runtime.CompilerServices;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.DataProtection.KeyManagement;
using Microsoft.AspNetCore.DataProtection.Repositories;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Whether the keys of Data Protection outlive the process: a service of systemd without a home has no place for them.</summary>
internal static class KeyRing
{
    /// <summary>Reports keys that are in memory alone.</summary>
    /// <param name="services">The services of the application.</param>
    /// <param name="findUsualFolder">The folder that ASP.NET Core takes if the application names none; <see langword="null"/> if there is none.</param>
    /// <param name="log">The log.</param>
    public static void Report(IServiceProvider services, Func<DirectoryInfo?> findUsualFolder, ILogger log)
    {
        // Windows has the registry besides.
        if (OperatingSystem.IsWindows() || services.GetService<IServiceProviderIsService>()?.IsService(typeof(IDataProtectionProvider)) != true)
            return;

        ReportUsed(services, findUsualFolder, log);
    }

    /// <summary>The folder that ASP.NET Core takes if the application names none.</summary>
    public static DirectoryInfo? FindUsualFolder() => FileSystemXmlRepository.DefaultKeyStorageDirectory;

    /// <summary>Apart, so that an application without Data Protection does not load it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ReportUsed(IServiceProvider services, Func<DirectoryInfo?> findUsualFolder, ILogger log)
    {
        try
        {
            if (services.GetService<IOptions<KeyManagementOptions>>()?.Value.XmlRepository is null && findUsualFolder() is null)
                log.KeysInMemory();
        }
        catch (Exception)
        {
            // The application's own settings threw, which those that use the keys meet themselves. Advice does not end a start.
        }
    }
}
