using System.Net.Sockets;
using FastCgi.AspNetCore.ProcessTests.Starters;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application makes its socket itself, as a process and a user of its own.</summary>
[Trait("Category", "Users")]
public sealed class UnixSocketTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    private string SocketPath => Path.Combine(_folder.Path, "app.sock");

    private UnixDomainSocketEndPoint EndPoint => new(SocketPath);

    private string Url => $"ASPNETCORE_URLS=fastcgi://unix:{SocketPath}";

    [Fact]
    public async Task Stop_Terminated_SocketIsRemoved()
    {
        await using var starter = Starter.Start([Url], Starter.Application);

        await Starter.TerminateAsync(await starter.GetProcessAsync(EndPoint));

        Assert.Equal(0, await starter.WaitForExitAsync());
        Assert.False(File.Exists(SocketPath));
    }

    [Fact]
    public async Task Start_BehindAKilledProcess_SocketIsReplaced()
    {
        await using var killed = Starter.Start([Url], Starter.Application);
        await Starter.KillAsync(await killed.GetProcessAsync(EndPoint));
        await killed.WaitForExitAsync();
        Assert.True(File.Exists(SocketPath));

        await using var starter = Starter.Start([Url], Starter.Application);

        await starter.WaitForOutputAsync("Now listening on");
        Assert.NotEqual(0, await starter.GetProcessAsync(EndPoint));
    }

    [Fact]
    public async Task Start_BesideARunningProcess_FailsAndThatOneServesOn()
    {
        await using var running = Starter.Start([Url], Starter.Application);
        var process = await running.GetProcessAsync(EndPoint);

        await using var second = Starter.Start([Url], Starter.Application);

        Assert.NotEqual(0, await second.WaitForExitAsync());
        Assert.Contains($"Failed to listen on fastcgi://unix:{SocketPath}: the address is already in use", second.Output, StringComparison.Ordinal);
        Assert.Equal(process, await running.GetProcessAsync(EndPoint));
    }

    [Fact]
    public async Task Start_FolderOfAnotherUser_FailsWithALineThatSaysWhatToDo()
    {
        var folder = Directory.CreateDirectory(Path.Combine(_folder.Path, "run"), UnixFileMode.UserRead | UnixFileMode.UserExecute);
        await using var starter = StartWithoutRights($"ASPNETCORE_URLS=fastcgi://unix:{folder.FullName}/app.sock");

        Assert.NotEqual(0, await starter.WaitForExitAsync());
        Assert.Matches("Failed to listen on fastcgi://unix:.*/run/app.sock: .*(cannot access it|cannot create a socket in).*\\.", starter.Output);
    }

    [Fact]
    public async Task Start_OwnerThatOnlyRootCanSet_FailsAndLeavesNothing()
    {
        var folder = Directory.CreateDirectory(Path.Combine(_folder.Path, "run"));
        File.SetUnixFileMode(folder.FullName, (UnixFileMode)0x1FF);
        await using var starter = StartWithoutRights(
            $"FastCgi__Endpoints__Web__Url=fastcgi://unix:{folder.FullName}/app.sock", "FastCgi__Endpoints__Web__Owner=root");

        Assert.NotEqual(0, await starter.WaitForExitAsync());
        Assert.Contains("Only root can set Owner", starter.Output, StringComparison.Ordinal);
        Assert.Empty(folder.EnumerateFileSystemInfos());
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>Starts the application as nobody in particular: root may everything.</summary>
    private Starter StartWithoutRights(params string[] environment)
    {
        string[] asNobody = Environment.UserName == "root" ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
        return Starter.Start(environment, [.. asNobody, Starter.CopyApplication(_folder)]);
    }
}
