namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>System calls on descriptor numbers. Tests that need certain numbers run alone.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed partial class DescriptorTable
{
    public const string Name = "Descriptors";

    public const int CloseOnExec = 1;

    private const int GetFlagsCommand = 1;
    private const int SetFlagsCommand = 2;

    public static int GetFlags(int descriptor) => fcntl(descriptor, GetFlagsCommand, 0);

    public static void SetFlags(int descriptor, int flags)
        => Assert.Equal(0, fcntl(descriptor, SetFlagsCommand, flags));

    public static void Close(int descriptor) => Assert.Equal(0, close(descriptor));

    /// <summary>Both ends of a pipe, the reading one first.</summary>
    public static unsafe (int Read, int Write) MakePipe()
    {
        var ends = stackalloc int[2];
        Assert.Equal(0, pipe(ends));
        return (ends[0], ends[1]);
    }

    /// <summary>Replaces the descriptor of a number until disposed.</summary>
    public sealed class Replaced : IDisposable
    {
        private readonly int _number;
        private readonly int _before;

        public Replaced(int number, int descriptor)
        {
            _number = number;
            _before = dup(number);
            Assert.Equal(number, dup2(descriptor, number));
        }

        public void Dispose()
        {
            if (_before < 0)
            {
                Close(_number);
                return;
            }

            Assert.Equal(_number, dup2(_before, _number));
            Close(_before);
        }
    }

    [LibraryImport("libc")]
    private static partial int fcntl(int descriptor, int command, int argument);

    [LibraryImport("libc")]
    private static partial int close(int descriptor);

    [LibraryImport("libc")]
    private static unsafe partial int pipe(int* ends);

    [LibraryImport("libc")]
    private static partial int dup(int descriptor);

    [LibraryImport("libc")]
    private static partial int dup2(int descriptor, int number);
}
