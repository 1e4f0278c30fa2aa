using System.Diagnostics;

namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class SocketFileTests : IDisposable
{
    private const int NotPermitted = 1;

    private readonly ScratchFolder _folder = new();

    private string FilePath => Path.Combine(_folder.Path, "file");

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("socket", true)]
    [InlineData("file", false)]
    [InlineData("folder", false)]
    [InlineData("link", false)]
    [InlineData("pipe", false)]
    public void IsSocket_TellsASocketFromAllElse(string kind, bool isSocket)
    {
        using var socket = Make(kind);

        Assert.Equal(isSocket, SocketFile.IsSocket(FilePath));
    }

    [Fact]
    public void IsSocket_Nothing_Null() => Assert.All([FilePath, Path.Combine(_folder.Path, "no/folder/file")], static path => Assert.Null(SocketFile.IsSocket(path)));

    /// <summary>What cannot be examined is not replaced.</summary>
    [Fact]
    public void IsSocket_StatusIsForbidden_Fails()
    {
        IOException? error = null;

        Sandbox.Run(SystemCall.Statx, NotPermitted, () => error = Assert.Throws<IOException>(() => SocketFile.IsSocket(FilePath)));

        Assert.StartsWith($"statx of {FilePath} failed: ", error!.Message, StringComparison.Ordinal);
    }

    /// <summary>What cannot be seen is not replaced: the bind that follows says why.</summary>
    [Fact]
    public void IsSocket_FolderMayNotBeSearched_Null()
    {
        using var socket = Make("socket");
        File.SetUnixFileMode(_folder.Path, UnixFileMode.None);
        bool? found = true;

        Sandbox.RunAsOrdinaryUser(() => found = SocketFile.IsSocket(FilePath));
        File.SetUnixFileMode(_folder.Path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);

        Assert.Null(found);
    }

    [Fact]
    public void Bind_LongestPath_IsItsName()
    {
        var path = Path.Combine(_folder.Path, new string('a', 107 - _folder.Path.Length - 1));

        using var socket = SocketFile.Bind(path);

        Assert.Equal(path, socket.LocalEndPoint!.ToString());
        Assert.True(SocketFile.IsSocket(path));
        Assert.Throws<ArgumentException>(() => SocketFile.Bind(path + "a"));
    }

    [Theory]
    [InlineData("file", 98)]
    [InlineData("no/folder/file", 2)]
    public void Bind_Refused_SaysWhy(string name, int error)
    {
        using var other = Make("socket");

        Assert.Equal(error, Assert.Throws<IOException>(() => SocketFile.Bind(Path.Combine(_folder.Path, name))).HResult);
    }

    [Fact]
    public void ChangeMode_OfAFile_SetsIt()
    {
        File.WriteAllText(FilePath, "");

        SocketFile.ChangeMode(FilePath, UnixFileMode.UserRead | UnixFileMode.GroupWrite);

        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.GroupWrite, File.GetUnixFileMode(FilePath));
    }

    /// <summary>A link that another user of the folder made must not give a server of root to the file it leads to.</summary>
    [Fact]
    public void ChangeMode_OfALink_FailsAndLeavesTheFile()
    {
        var target = FilePath + ".target";
        File.WriteAllText(target, "");
        File.SetUnixFileMode(target, UnixFileMode.UserRead);
        File.CreateSymbolicLink(FilePath, target);

        Assert.Throws<IOException>(() => SocketFile.ChangeMode(FilePath, UnixFileMode.UserRead | UnixFileMode.OtherWrite));

        Assert.Equal(UnixFileMode.UserRead, File.GetUnixFileMode(target));
    }

    [RootFact]
    public void ChangeOwner_OfEitherOrBoth_LeavesTheOther()
    {
        File.WriteAllText(FilePath, "");

        SocketFile.ChangeOwner(FilePath, user: 7, group: null);
        SocketFile.ChangeOwner(FilePath, user: null, group: 8);

        Assert.Equal((7u, 8u), (SocketFile.GetPermissions(FilePath)!.User, SocketFile.GetPermissions(FilePath)!.Group));
    }

    [Fact]
    public void Owner_OfNothing_IsRefusedOrNotTold()
    {
        Assert.Throws<IOException>(() => SocketFile.ChangeOwner(FilePath, user: 7, group: null));
        Assert.Null(SocketFile.GetPermissions(FilePath));
    }

    private Socket? Make(string kind)
    {
        switch (kind)
        {
            case "socket":
                return SocketFile.Bind(FilePath);
            case "file":
                File.WriteAllText(FilePath, "precious");
                break;
            case "folder":
                Directory.CreateDirectory(FilePath);
                break;
            case "link":
                File.CreateSymbolicLink(FilePath, "/nowhere");
                break;
            default:
                using (var process = Process.Start("mkfifo", FilePath))
                    process.WaitForExit();
                break;
        }

        return null;
    }
}
