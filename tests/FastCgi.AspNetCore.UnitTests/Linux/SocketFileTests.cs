namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class SocketFileTests : IDisposable
{
    private const int NotPermitted = 1;

    private readonly ScratchFolder _folder = new();

    private string FilePath => Path.Combine(_folder.Path, "file");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void GetPermissions_Link_ReturnsTheTargets()
    {
        var target = _folder.Write("target", []);
        File.SetUnixFileMode(target, UnixFileMode.UserRead | UnixFileMode.GroupRead);
        File.CreateSymbolicLink(FilePath, target);

        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.GroupRead, SocketFile.GetPermissions(FilePath)!.Mode);
    }

    /// <summary>A file that cannot be examined is not replaced.</summary>
    [Fact]
    public void IsSocket_StatusIsForbidden_Fails()
    {
        IOException? error = null;

        Sandbox.Run(
            SystemCall.Statx,
            NotPermitted,
            () => error = Assert.Throws<IOException>(() => SocketFile.IsSocket(FilePath)));

        Assert.StartsWith($"statx of {FilePath} failed: ", error!.Message);
    }

    /// <summary>A file that cannot be seen is not replaced; the bind then reports the reason.</summary>
    [Fact]
    public void IsSocket_FolderMayNotBeSearched_Null()
    {
        using var socket = SocketFile.Bind(FilePath);
        File.SetUnixFileMode(_folder.Path, UnixFileMode.None);
        bool? found = true;

        Sandbox.RunAsOrdinaryUser(() => found = SocketFile.IsSocket(FilePath));
        File.SetUnixFileMode(_folder.Path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);

        Assert.Null(found);
    }

    /// <summary>A link by another user must not make a root server change the owner of its target.</summary>
    [Fact]
    public void ChangeMode_OfALink_FailsAndLeavesTheFile()
    {
        var target = FilePath + ".target";
        File.WriteAllText(target, "");
        File.SetUnixFileMode(target, UnixFileMode.UserRead);
        File.CreateSymbolicLink(FilePath, target);

        Assert.Throws<IOException>(
            () => SocketFile.ChangeMode(FilePath, UnixFileMode.UserRead | UnixFileMode.OtherWrite));

        Assert.Equal(UnixFileMode.UserRead, File.GetUnixFileMode(target));
    }

    [Fact]
    public void Permissions_FileIsAbsent_FailOrAreUnknown()
    {
        Assert.Throws<IOException>(() => SocketFile.ChangeOwner(FilePath, user: 7, group: null));
        Assert.Null(SocketFile.GetPermissions(FilePath));
    }
}
