namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Files as bodies: those that are not sent, and those that are not left to the web server.</summary>
public sealed class ResponseSendFileTests : IDisposable
{
    private readonly ResponseRig _rig = new();
    private readonly ScratchFolder _folder = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _folder.Dispose();

    /// <summary>.NET needs descriptors for threads.</summary>
    [Theory]
    [InlineData(1_000_000, false)]
    [InlineData(2, true)]
    public async Task SendFile_WithOneOfTheLastDescriptors_IsNotSent(long limit, bool isRefused)
    {
        var path = _folder.Write("file", new byte[10]);
        _rig.MaxDescriptors = limit;
        _rig.Begin();

        var error = await Record.ExceptionAsync(() => Response.SendFileAsync(path, 0, null));

        Assert.Equal(isRefused, error is IOException);
        Assert.Equal(isRefused, error?.Message.Contains("Raise LimitNOFILE=", StringComparison.Ordinal) == true);
        Assert.Equal(!isRefused, Response.HasStarted);
        // It is closed.
        using var whole = File.Open(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None);
    }
}
