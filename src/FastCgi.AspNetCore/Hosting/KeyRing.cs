using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.DataProtection.KeyManagement;
using Microsoft.AspNetCore.DataProtection.Repositories;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Detects Data Protection keys that do not survive a restart: a systemd service without a home has no folder for them.</summary>
internal static class KeyRing
{
    public static void Report(IServiceProvider services, Func<DirectoryInfo?> findUsualFolder, ILogger log)
    {
        // Windows also has the registry.
        if (OperatingSystem.IsWindows() || services.GetService<IServiceProviderIsService>()?.IsService(typeof(IDataProtectionProvider)) != true)
            return;

        ReportUsed(services, findUsualFolder, log);
    }

    public static DirectoryInfo? FindUsualFolder() => FileSystemXmlRepository.DefaultKeyStorageDirectory;

    /// <summary>Separate, so that Data Protection is loaded only if the application uses it.</summary>
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
            // The application's configuration threw; users of the keys will report it. Advice must not prevent the start.
        }
    }
}
