namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application makes its socket itself, as a user who may not everything.</summary>
[Trait("Category", "Users")]
public sealed class UnixSocketTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    [Fact]
    public async Task Start_FolderOfAnotherUser_FailsWithALineThatSaysWhatToDo()
    {
        var folder = Directory.CreateDirectory(
            Path.Combine(_folder.Path, "run"), UnixFileMode.UserRead | UnixFileMode.UserExecute);
        await using var starter = StartWithoutRights($"ASPNETCORE_URLS=fastcgi://unix:{folder.FullName}/app.sock");

        Assert.NotEqual(0, await starter.WaitForExitAsync());
        Assert.Matches(
            "Failed to listen on fastcgi://unix:.*/run/app.sock: .*(cannot access it|cannot create a socket in).*\\.",
            starter.Output);
    }

    [Fact]
    public async Task Start_OwnerThatOnlyRootCanSet_FailsAndLeavesNothing()
    {
        var folder = Directory.CreateDirectory(Path.Combine(_folder.Path, "run"));
        File.SetUnixFileMode(folder.FullName, (UnixFileMode)0x1FF);
        await using var starter = StartWithoutRights(
            $"FastCgi__Endpoints__Web__Url=fastcgi://unix:{folder.FullName}/app.sock",
            "FastCgi__Endpoints__Web__Owner=root");

        Assert.NotEqual(0, await starter.WaitForExitAsync());
        Assert.Contains("Only root can set Owner", starter.Output, StringComparison.Ordinal);
        Assert.Empty(folder.EnumerateFileSystemInfos());
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>Starts the application as an unprivileged user, because root can access everything.</summary>
    private Starter StartWithoutRights(params string[] environment)
    {
        // That user may not be able to read the current folder.
        string[] asNobody = Environment.IsPrivilegedProcess
            ? ["env", "--chdir=" + _folder.Path, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            : [];
        return Starter.Start(environment, [.. asNobody, Starter.CopyApplication(_folder)]);
    }
}
