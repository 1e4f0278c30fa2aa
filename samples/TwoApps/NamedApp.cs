namespace TwoApps;

/// <summary>An application with a section of the configuration of its own. Each start makes a new one, for one that was stopped cannot be started again.</summary>
internal sealed class NamedApp(string name, string[] args, Action<WebApplication> configure) : IAsyncDisposable
{
    private WebApplication? _app;

    public async Task StartAsync()
    {
        var builder = WebApplication.CreateBuilder(args);
        // What stands in the section of its name counts for it as if it stood at the top.
        builder.Configuration.AddInMemoryCollection(builder.Configuration.GetSection(name).AsEnumerable(makePathsRelative: true));
        builder.WebHost.UseFastCgi();
        _app = builder.Build();
        configure(_app);
        await _app.StartAsync();
    }

    /// <summary>Waits until the process is told to stop.</summary>
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
