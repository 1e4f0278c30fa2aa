using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace FastCgi.AspNetCore.Testing;

/// <summary>Calls of the system that a <see cref="Sandbox"/> can refuse. Each has a number on x86-64, and another on ARM.</summary>
public enum SystemCall
{
    Accept,
    EpollControl,
    EpollCreate,
    EpollWait,
    EventCreate,
    Open,
    ReadLink,
    Receive,
    Shutdown,
    Statx,
}

/// <summary>
/// A thread on which the system refuses a call, as a sandbox, a container or an old kernel does (seccomp). What it does must start no thread,
/// nor make the thread pool start one: that would be in the sandbox too, and stay there.
/// </summary>
[SupportedOSPlatform("linux")]
public static unsafe partial class Sandbox
{
    private const int NoNewPrivileges = 38;
    private const int SetSeccomp = 22;
    private const int FilterMode = 2;
    private const int OwnDescriptors = 0x400;
    private const uint Nobody = 65_534;

    // Classic BPF over struct seccomp_data: the number of the call, its processor, where it was made, its arguments.
    private const ushort Load = 0x20;
    private const ushort SkipUnlessEqual = 0x15;
    private const ushort Return = 0x06;
    private const uint Allowed = 0x7fff0000;
    private const uint Refused = 0x00050000;
    private const uint FirstArgument = 16;

    /// <summary>Does something where the system refuses a call.</summary>
    /// <param name="argument">Refuses only calls of which the argument at an index has a value.</param>
    public static void Run(SystemCall call, int error, Action action, (int Index, uint Value)? argument = null) => RunOnThread(() =>
    {
        Refuse(call, error, argument);
        action();
    });

    /// <summary>Does something on a thread with a table of descriptors of its own: no other thread takes a number or gives one back meanwhile.</summary>
    public static void RunWithOwnDescriptors(Action action) => RunOnThread(() =>
    {
        Assert.Equal(0, unshare(OwnDescriptors));
        action();
    });

    /// <summary>From now on the thread that asks is refused a call. Only for a thread that ends then.</summary>
    public static void Refuse(SystemCall call, int error, (int Index, uint Value)? argument = null)
    {
        var program = stackalloc Instruction[6];
        var count = 0;
        program[count++] = new() { Code = Load };
        program[count++] = new() { Code = SkipUnlessEqual, Operand = GetNumber(call), IfFalse = (byte)(argument is null ? 1 : 3) };
        if (argument is var (index, value))
        {
            program[count++] = new() { Code = Load, Operand = FirstArgument + (8 * (uint)index) };
            program[count++] = new() { Code = SkipUnlessEqual, Operand = value, IfFalse = 1 };
        }

        program[count++] = new() { Code = Return, Operand = Refused | (uint)error };
        program[count++] = new() { Code = Return, Operand = Allowed };
        var filter = new Program { Length = (ushort)count, Instructions = program };
        Assert.Equal(0, prctl(NoNewPrivileges, 1, 0, 0, 0));
        Assert.Equal(0, prctl(SetSeccomp, FilterMode, (nint)(&filter), 0, 0));
    }

    /// <summary>Does something as a user who may not what root may: with his files, of this thread alone.</summary>
    public static void RunAsOrdinaryUser(Action action) => RunOnThread(() =>
    {
        if (Environment.IsPrivilegedProcess)
            _ = setfsuid(Nobody);
        action();
    });

    private static void RunOnThread(Action action)
    {
        Exception? error = null;
        var thread = new Thread(() => error = Record.Exception(action));
        thread.Start();
        thread.Join();
        if (error is not null)
            ExceptionDispatchInfo.Throw(error);
    }

    private static uint GetNumber(SystemCall call)
    {
        var (x64, arm64) = call switch
        {
            SystemCall.Accept => (288u, 242u),
            SystemCall.EpollControl => (233u, 21u),
            SystemCall.EpollCreate => (291u, 20u),
            // ARM has one call for this and for that with a mask of signals, whose first arguments are the same.
            SystemCall.EpollWait => (232u, 22u),
            SystemCall.EventCreate => (290u, 19u),
            SystemCall.Open => (257u, 56u),
            SystemCall.ReadLink => (89u, 78u),
            SystemCall.Receive => (45u, 207u),
            SystemCall.Shutdown => (48u, 210u),
            SystemCall.Statx => (332u, 291u),
            _ => throw new ArgumentOutOfRangeException(nameof(call)),
        };
        return RuntimeInformation.ProcessArchitecture == Architecture.X64 ? x64 : arm64;
    }

    [LibraryImport("libc")]
    private static partial int prctl(int option, nint second, nint third, nint fourth, nint fifth);

    [LibraryImport("libc")]
    private static partial int unshare(int flags);

    [LibraryImport("libc")]
    private static partial int setfsuid(uint user);

    /// <summary>struct sock_filter.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Instruction
    {
        public ushort Code;
        public byte IfTrue;
        public byte IfFalse;
        public uint Operand;
    }

    /// <summary>struct sock_fprog.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Program
    {
        public ushort Length;
        public Instruction* Instructions;
    }
}
