namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// The steps of <c>samples/scale-out/Dockerfile</c>, without an image builder, on a view of this machine, which also
/// runs Debian.
/// </summary>
public sealed class ImageTests
{
    [MachineFact]
    public async Task Dockerfile_Steps_EndInAnApplicationThatServes()
    {
        var text = await File.ReadAllTextAsync(Repository.GetPath("samples/scale-out/Dockerfile"));
        Assert.Contains("FROM debian:", text, StringComparison.Ordinal);
        Assert.Contains("/app/MinimalApi", text, StringComparison.Ordinal);
        await using var application = await Application.CreateAsync(usesFeedAlone: false, "web");
        await application.PublishAsync(
            "-r", "linux-" + RuntimeInformation.OSArchitecture.ToString().ToLowerInvariant(), "--self-contained");

        await application.StartInImageAsync(text.Replace("/app/MinimalApi", "/app/Hello", StringComparison.Ordinal));

        Assert.Equal("Hello World!", await application.GetAsync("/"));
    }
}
