using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.FileProviders;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>A published application that was started from another folder finds no static files.</summary>
public sealed class WebRootTests
{
    [Theory]
    [InlineData(false, true, true)]
    [InlineData(true, true, false)]
    [InlineData(false, false, false)]
    public void Report_OnlyTheFolderOfTheApplicationHasAWebRoot_IsWarned(
        bool isInContentRoot, bool isInBase, bool isReported)
    {
        using var contentRoot = new ScratchFolder();
        using var application = new ScratchFolder();
        if (isInBase)
            Directory.CreateDirectory(application.GetPath("wwwroot"));
        using var logs = new CollectedLogs();

        FastCgiServer.ReportWebRoot(
            new TestEnvironment
            {
                ContentRootPath = contentRoot.Path,
                WebRootPath = isInContentRoot ? contentRoot.GetPath("wwwroot") : null!,
            },
            application.Path + Path.DirectorySeparatorChar,
            logs.CreateLogger("FastCgi.AspNetCore"));

        Assert.Equal(
            isReported ? [(LogLevel.Warning, "WebRootMissing")] : [],
            logs.All.Select(static log => (log.Level, log.EventName!)));
        Assert.All(logs.All, log => Assert.Contains(
            $"WorkingDirectory={application.Path} in the systemd unit", log.Message));
        Assert.All(logs.All, log => Assert.StartsWith(
            $"The content root {contentRoot.Path} has no wwwroot", log.Message));
    }

    private sealed class TestEnvironment : IWebHostEnvironment
    {
        public required string ContentRootPath { get; set; }

        public required string WebRootPath { get; set; }

        public string ApplicationName { get; set; } = "app";

        public string EnvironmentName { get; set; } = "Production";

        public IFileProvider ContentRootFileProvider { get; set; } = new NullFileProvider();

        public IFileProvider WebRootFileProvider { get; set; } = new NullFileProvider();
    }
}
