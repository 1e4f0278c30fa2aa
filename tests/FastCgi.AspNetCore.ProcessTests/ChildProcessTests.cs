namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>
/// What a child process inherits. Other tests pass sockets to every process, so these tests run alone.
/// </summary>
[Collection(nameof(ChildProcessTests))]
[CollectionDefinition(nameof(ChildProcessTests), DisableParallelization = true)]
public sealed class ChildProcessTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    private string SocketPath => Path.Combine(_folder.Path, "app.sock");

    private EndPoint UnixEndPoint => new UnixDomainSocketEndPoint(SocketPath);

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Systemd_ChildProcess_InheritsNeitherSocketsNorVariables()
    {
        await using var starter = Starter.StartBySystemd(Starter.Engine, "-l", SocketPath, "--fdname=web");

        var child = await starter.GetAsync(UnixEndPoint, "/child");

        Assert.Contains("PATH=", child, StringComparison.Ordinal);
        Assert.DoesNotContain("LISTEN_", child, StringComparison.Ordinal);
        Assert.DoesNotContain("socket:", child, StringComparison.Ordinal);
    }

    [Fact]
    public async Task SpawnFcgi_ChildProcess_DoesNotInheritTheSocket()
    {
        await using var starter = Starter.Start("spawn-fcgi", "-n", "-s", SocketPath, "--", Starter.Application);

        Assert.DoesNotContain("socket:", await starter.GetAsync(UnixEndPoint, "/child"), StringComparison.Ordinal);
    }
}
