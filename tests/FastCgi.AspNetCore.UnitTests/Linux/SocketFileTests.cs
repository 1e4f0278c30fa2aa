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
    public void IsSocket_WithAndWithoutTheStatus_TellsASocketFromAllElse(string kind, bool isSocket)
    {
        using var socket = Make(kind);

        Assert.Equal(isSocket, SocketFile.IsSocket(FilePath));
        Assert.Equal(isSocket, SocketFile.IsSocketWithoutStatus(FilePath));
    }

    [Fact]
    public void IsSocket_Nothing_Null() => Assert.All([FilePath, Path.Combine(_folder.Path, "no/folder/file")], static path =>
    {
        Assert.Null(SocketFile.IsSocket(path));
        Assert.Null(SocketFile.IsSocketWithoutStatus(path));
    });

    /// <summary>Older containers do not allow the call, and say so with another error than an old kernel.</summary>
    [Fact]
    public void IsSocket_StatusIsForbidden_SocketIsFoundWithoutIt()
    {
        using var socket = Make("socket");
        bool? isSocket = null;
        FilePermissions? permissions = null;

        Sandbox.Run(SystemCall.Statx, NotPermitted, () =>
        {
            isSocket = SocketFile.IsSocket(FilePath);
            permissions = SocketFile.GetPermissions(FilePath);
        });

        Assert.True(isSocket);
        Assert.Null(permissions);
    }

    /// <summary>What cannot be seen is not replaced: the bind that follows says why.</summary>
    [Fact]
    public void IsSocket_FolderMayNotBeSearched_NothingOrNoSocket()
    {
        using var socket = Make("socket");
        File.SetUnixFileMode(_folder.Path, UnixFileMode.None);
        bool? found = null, foundWithoutStatus = null;

        Sandbox.RunAsOrdinaryUser(() =>
        {
            found = SocketFile.IsSocket(FilePath);
            foundWithoutStatus = SocketFile.IsSocketWithoutStatus(FilePath);
        });
        File.SetUnixFileMode(_folder.Path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);

        Assert.Null(found);
        Assert.False(foundWithoutStatus);
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
