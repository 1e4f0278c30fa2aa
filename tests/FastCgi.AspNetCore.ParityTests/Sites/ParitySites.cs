namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>The same application, served in each way.</summary>
public sealed class ParitySites : IAsyncLifetime, IDisposable
{
    private readonly SiteCertificates _certificates = new();

    internal Site[] All { get; private set; } = [];

    internal SiteCertificates Certificates => _certificates;

    public async Task InitializeAsync()
        => All = await Task.WhenAll(Enum.GetValues<SiteKind>().Select(kind => Site.StartAsync(kind, _certificates)));

    public async Task DisposeAsync() => await Task.WhenAll(All.Select(site => site.DisposeAsync().AsTask()));

    public void Dispose() => _certificates.Dispose();
}
