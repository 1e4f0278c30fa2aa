namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class FolderLockTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void TryAcquire_AnotherHasIt_UntilThatIsDisposed()
    {
        using var second = new FolderLock(_folder.GetPath("second.sock"));
        using (var first = new FolderLock(_folder.GetPath("first.sock")))
        {
            Assert.Equal(_folder.Path, first.Folder);
            Assert.True(first.TryAcquire());
            Assert.True(first.TryAcquire());
            Assert.False(second.TryAcquire());
        }

        Assert.True(second.TryAcquire());
    }

    [Fact]
    public void TryAcquire_OtherFolder_IsAnotherLock()
    {
        using var other = new ScratchFolder();
        using var first = new FolderLock(_folder.GetPath("app.sock"));
        using var second = new FolderLock(other.GetPath("app.sock"));

        Assert.True(first.TryAcquire());
        Assert.True(second.TryAcquire());
    }

    /// <summary>The bind that follows says why.</summary>
    [Fact]
    public void TryAcquire_NoSuchFolder_NobodyHasIt()
    {
        using var folder = new FolderLock(_folder.GetPath("missing/app.sock"));
        using var root = new FolderLock("/app.sock");

        Assert.True(folder.TryAcquire());
        Assert.Equal("/", root.Folder);
    }
}
