namespace TwoApps;

/// <summary>
/// An application with its own configuration section. Each start creates a new host, because a stopped one cannot
/// restart.
/// </summary>
internal sealed class NamedApp(string name, string[] args, Action<WebApplication> configure) : IAsyncDisposable
{
    private WebApplication? _app;

    public async Task StartAsync()
    {
        var builder = WebApplication.CreateBuilder(args);
        // Its section overrides the settings at the top level.
        builder.Configuration.AddInMemoryCollection(
            builder.Configuration.GetSection(name).AsEnumerable(makePathsRelative: true));
        builder.WebHost.UseFastCgi();
        _app = builder.Build();
        configure(_app);
        await _app.StartAsync();
    }

    /// <summary>Waits until the process stops.</summary>
    public Task WaitForShutdownAsync() => _app?.WaitForShutdownAsync() ?? Task.CompletedTask;

    /// <summary>Lets the requests that run finish.</summary>
    public async Task StopAsync()
    {
        if (_app is null)
            return;

        await _app.StopAsync();
        await DisposeAsync();
    }

    public async ValueTask DisposeAsync()
    {
        if (_app is not null)
            await _app.DisposeAsync();
        _app = null;
    }
}
