namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>The placeholder that the runtime opens for a closed standard stream is recognized.</summary>
[Collection(DescriptorTable.Name)]
public sealed class StandardStreamsTests
{
    // Unused descriptor numbers.
    private const int Before = 890;
    private const int Stream = 891;

    [Fact]
    public void IsPipeOfTheRuntime_EachKindOfPipe_OnlyTheRuntimesAreFound()
    {
        var (read, write) = DescriptorTable.MakePipe();
        var (otherRead, otherWrite) = DescriptorTable.MakePipe();

        Assert.True(Judge(read, write));
        Assert.True(Judge(write, read));
        Assert.True(Judge(otherRead, read));
        Assert.False(Judge(otherRead, write));
        Assert.False(Judge(write, write));
        Assert.False(Judge(otherWrite, write));
        using (new DescriptorTable.Replaced(Stream, write))
            Assert.False(Descriptors.IsPipeOfTheRuntime(Stream));
        using (var device = File.OpenHandle("/dev/null", FileMode.Open, FileAccess.ReadWrite))
            Assert.False(Judge(read, (int)device.DangerousGetHandle()));

        foreach (var descriptor in new[] { read, write, otherRead, otherWrite })
            DescriptorTable.Close(descriptor);
    }

    /// <summary>The standard streams of the tests are valid, so nothing changes.</summary>
    [Fact]
    public void Secure_OpenStreams_AreUnchanged()
    {
        var (output, error) = (Console.Out, Console.Error);
        var before = Targets();

        Descriptors.SecureStandardStreams();

        Assert.Same(output, Console.Out);
        Assert.Same(error, Console.Error);
        Assert.Equal(before, Targets());

        // The null device takes the place of closed streams.
        static IEnumerable<string?> Targets()
            => [.. Enumerable.Range(0, 3).Select(static stream => new FileInfo($"/proc/self/fd/{stream}").LinkTarget),
                .. Directory.GetFiles("/proc/self/fd").Select(static file => new FileInfo(file).LinkTarget)
                    .Where(static target => target == "/dev/null")];
    }

    private static bool Judge(int before, int stream)
    {
        using var first = new DescriptorTable.Replaced(Before, before);
        using var second = new DescriptorTable.Replaced(Stream, stream);
        return Descriptors.IsPipeOfTheRuntime(Stream);
    }
}
