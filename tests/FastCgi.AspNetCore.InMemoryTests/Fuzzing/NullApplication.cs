namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>Does nothing, at once.</summary>
internal sealed class NullApplication : IHttpApplication<IFeatureCollection>
{
    public IFeatureCollection CreateContext(IFeatureCollection contextFeatures) => contextFeatures;

    public Task ProcessRequestAsync(IFeatureCollection context) => Task.CompletedTask;

    public void DisposeContext(IFeatureCollection context, Exception? exception)
    {
    }
}
