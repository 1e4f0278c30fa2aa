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

/// <summary>
/// The system calls that fail in a process that has loaded faults.c. Both processes map the same file.
/// </summary>
internal sealed class FaultPlan : IDisposable
{
    private const int NumbersOfCall = 6;
    private const int Fail = 1;
    private const int Shorten = 2;

    private static readonly ScratchFolder s_folder = new();
    private static readonly Lazy<string> s_library = new(Compile);

    private readonly MemoryMappedFile _file;
    private readonly MemoryMappedViewAccessor _view;
    private readonly string _path;

    static FaultPlan() => AppDomain.CurrentDomain.ProcessExit += static (_, _) => s_folder.Dispose();

    public FaultPlan(ScratchFolder folder)
    {
        _path = folder.GetPath("faults");
        _file = MemoryMappedFile.CreateFromFile(
            _path, FileMode.Create, mapName: null, Enum.GetValues<SystemCall>().Length * NumbersOfCall * sizeof(int));
        _view = _file.CreateViewAccessor();
    }

    /// <summary>The environment of the process. Skips the test if faults.c cannot be compiled.</summary>
    public string[] Environment => [$"FAULTS={_path}", $"LD_PRELOAD={s_library.Value}"];

    public void FailNext(SystemCall call, int error, int count) => Set(call, Fail, error, count);

    /// <summary>Limits the bytes that the next calls send or receive.</summary>
    public void ShortenNext(SystemCall call, int length, int count) => Set(call, Shorten, length, count);

    public void Clear(SystemCall call) => Set(call, kind: 0, value: 0, count: 0);

    /// <summary>The number of calls that have yet to fail.</summary>
    public int Remaining(SystemCall call) => Read(call, 1);

    /// <summary>The number of calls that have failed.</summary>
    public int Done(SystemCall call) => Read(call, 3);

    public void Dispose()
    {
        _view.Dispose();
        _file.Dispose();
    }

    private static string Compile()
    {
        Programs.Require("gcc", "/usr/include/stdlib.h");
        var library = s_folder.GetPath("faults.so");
        var source = Path.Combine(AppContext.BaseDirectory, "Faults", "faults.c");
        Assert.Null(ExternalProgram.FindObstacle(
            "The compiler failed",
            "gcc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl", "-lpthread"));
        return library;
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
