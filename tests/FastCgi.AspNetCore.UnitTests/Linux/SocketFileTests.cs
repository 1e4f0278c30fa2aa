using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.UnitTests.Linux;

[SupportedOSPlatform("linux")]
public sealed class SocketFileTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("fastcgi-");

    private string FilePath => Path.Combine(_folder.FullName, "file");

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData("socket", true)]
    [InlineData("file", false)]
    [InlineData("folder", false)]
    [InlineData("link", false)]
    [InlineData("pipe", false)]
    public void Find_WithAndWithoutTheStatus_TellsASocketFromAllElse(string kind, bool isSocket)
    {
        using var socket = Make(kind);

        Assert.Equal(isSocket, SocketFile.Find(FilePath)!.IsSocket);
        Assert.Equal(isSocket, SocketFile.FindWithoutStatus(FilePath)!.IsSocket);
    }

    [Theory]
    [InlineData("file")]
    [InlineData("no/folder/file")]
    public void Find_Nothing_Null(string name)
    {
        Assert.Null(SocketFile.Find(Path.Combine(_folder.FullName, name)));
        Assert.Null(SocketFile.FindWithoutStatus(Path.Combine(_folder.FullName, name)));
    }

    /// <summary>It might be another's by now.</summary>
    [Fact]
    public void Remove_WithoutTheStatus_IsLeft()
    {
        using var socket = Make("socket");

        SocketFile.FindWithoutStatus(FilePath)!.Remove();
        Assert.True(File.Exists(FilePath));
        SocketFile.Find(FilePath)!.Remove();
        Assert.False(File.Exists(FilePath));
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
