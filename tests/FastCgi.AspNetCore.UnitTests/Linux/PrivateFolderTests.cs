namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class PrivateFolderTests
{
    private const string Mounts = """
        45 1 254:0 / / rw,relatime - ext4 /dev/vda rw
        84 45 254:0 /tmp/systemd-private-1f2e-app.service-Xy/tmp /tmp rw,nosuid shared:1 - ext4 /dev/vda rw
        85 45 0:30 /systemd-private-1f2e-app.service-Xy/tmp /var/tmp rw - tmpfs tmpfs rw
        short line
        """;

    [Theory]
    [InlineData("/tmp/app.sock", "/tmp")]
    [InlineData("/var/tmp/app/app.sock", "/var/tmp")]
    [InlineData("/tmpfiles/app.sock", null)]
    [InlineData("/run/app/app.sock", null)]
    public void Find_Path_ReturnsThePrivateFolder(string path, string? folder)
    {
        using var scratch = new ScratchFolder();
        var mounts = scratch.GetPath("mountinfo");
        File.WriteAllText(mounts, Mounts);

        Assert.Equal(folder, SystemFile.FindPrivateFolder(path, mounts));
        Assert.Null(SystemFile.FindPrivateFolder(path, mounts + "-absent"));
    }
}
