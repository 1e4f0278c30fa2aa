using System.IO.MemoryMappedFiles;

namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>The calls that can be made to fail, in the order of faults.c.</summary>
public enum SystemCall
{
    Accept,
    Receive,
    Send,
    EpollControl,
    EpollWait,
    EventDescriptor,
    OpenThreadFile,
    GetSocketOption,
    CreateThread,
    Allocate,
}

/// <summary>What is to fail in a process that has loaded faults.c, which shares a file with this one.</summary>
internal sealed class FaultPlan : IDisposable
{
    private const int NumbersOfCall = 6;
    private const int Fail = 1;
    private const int Shorten = 2;

    private static readonly Lazy<string?> s_library = new(Compile);

    private readonly MemoryMappedFile _file;
    private readonly MemoryMappedViewAccessor _view;
    private readonly string _path;

    public FaultPlan(ScratchFolder folder)
    {
        _path = folder.GetPath("faults");
        _file = MemoryMappedFile.CreateFromFile(_path, FileMode.Create, mapName: null, Enum.GetValues<SystemCall>().Length * NumbersOfCall * sizeof(int));
        _view = _file.CreateViewAccessor();
    }

    /// <summary>Why there is no library; nothing if there is one.</summary>
    public static string? Obstacle => s_library.Value is null ? "There is no gcc that compiles faults.c here." : null;

    /// <summary>What the process needs in its environment.</summary>
    public string[] Environment => [$"FAULTS={_path}", $"LD_PRELOAD={s_library.Value}"];

    public void FailNext(SystemCall call, int error, int count) => Set(call, Fail, error, count);

    /// <summary>Lets the next calls send or receive no more than some bytes.</summary>
    public void ShortenNext(SystemCall call, int length, int count) => Set(call, Shorten, length, count);

    public void Clear(SystemCall call) => Set(call, kind: 0, value: 0, count: 0);

    /// <summary>How many are still to fail.</summary>
    public int Remaining(SystemCall call) => Read(call, 1);

    /// <summary>How often it was made to fail.</summary>
    public int Done(SystemCall call) => Read(call, 3);

    public void Dispose()
    {
        _view.Dispose();
        _file.Dispose();
    }

    private static string? Compile()
    {
        var library = Path.Combine(AppContext.BaseDirectory, "Faults", "faults.so");
        var source = Path.ChangeExtension(library, ".c");
        try
        {
            // Into a file of its own, for another run may be loading it.
            var own = Path.Combine(Directory.CreateTempSubdirectory("faults-").FullName, "faults.so");
            using var compiler = Process.Start(new ProcessStartInfo("gcc", ["-shared", "-fPIC", "-O2", "-o", own, source, "-ldl", "-lpthread"]) { RedirectStandardError = true })!;
            compiler.StandardError.ReadToEnd();
            compiler.WaitForExit();
            return compiler.ExitCode == 0 ? own : null;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return null;
        }
    }

    private void Set(SystemCall call, int kind, int value, int count)
    {
        Write(call, 1, 0);
        Write(call, 0, kind);
        Write(call, 2, value);
        Thread.MemoryBarrier();
        Write(call, 1, count);
    }

    private int Read(SystemCall call, int number) => _view.ReadInt32(Place(call, number));

    private void Write(SystemCall call, int number, int value) => _view.Write(Place(call, number), value);

    private static int Place(SystemCall call, int number) => (((int)call * NumbersOfCall) + number) * sizeof(int);
}

/// <summary>A theory that needs faults.c, and is skipped where it cannot be compiled.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class FaultTheoryAttribute : TheoryAttribute
{
    public FaultTheoryAttribute()
    {
        Skip = FaultPlan.Obstacle;
    }
}
