using System.Reflection;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// Calls of the system that a <see cref="Sandbox"/> can refuse. Each has a number on x86-64, and another on ARM.
/// </summary>
public enum SystemCall
{
    EpollCreate,
    EventCreate,
    Open,
    ReadLink,
    Rename,
    Shutdown,
    Statx,
    Unlink,
}

/// <summary>
/// A thread on which the system refuses a call, as a sandbox, a container or an old kernel does (seccomp). What it does
/// must start no thread, nor make the thread pool start one: that would be in the sandbox too, and stay there.
/// </summary>
[SupportedOSPlatform("linux")]
public static unsafe partial class Sandbox
{
    private const int NoNewPrivileges = 38;
    private const int SetSeccomp = 22;
    private const int FilterMode = 2;
    private const uint Nobody = 65_534;

    // Classic BPF over struct seccomp_data, which begins with the number of the call.
    private const ushort Load = 0x20;
    private const ushort SkipUnlessEqual = 0x15;
    private const ushort Return = 0x06;
    private const uint Allowed = 0x7fff0000;
    private const uint Refused = 0x00050000;

    /// <summary>Runs an action for which the system refuses a call.</summary>
    public static void Run(SystemCall call, int error, Action action) => Run(() => Refuse(call, error), action);

    /// <summary>Runs an action on a thread without root's privileges.</summary>
    public static void RunAsOrdinaryUser(Action action) => Run(
        static () =>
        {
            if (Environment.IsPrivilegedProcess)
            {
                _ = setfsgid(Nobody);
                _ = setfsuid(Nobody);
            }
        },
        action);

    /// <summary>Runs an action on a thread of another user.</summary>
    public static void RunAs(uint user, Action action) => Run(
        () =>
        {
            // Not by the C library, which would change the user of all threads.
            var setUser = RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? 147 : 117;
            Assert.Equal(0, syscall(setUser, -1, (nint)user, -1));
        },
        action);

    private static void Refuse(SystemCall call, int error)
    {
        var program = stackalloc Instruction[4];
        program[0] = new() { Code = Load };
        program[1] = new() { Code = SkipUnlessEqual, Operand = GetNumber(call), IfFalse = 1 };
        program[2] = new() { Code = Return, Operand = Refused | (uint)error };
        program[3] = new() { Code = Return, Operand = Allowed };
        var filter = new Program { Length = 4, Instructions = program };
        Assert.Equal(0, prctl(NoNewPrivileges, 1, 0, 0, 0));
        Assert.Equal(0, prctl(SetSeccomp, FilterMode, (nint)(&filter), 0, 0));
    }

    // Those that are first needed on the restricted thread would be loaded there, which may be forbidden.
    private static void LoadAssemblies(Action action)
    {
        foreach (var assembly in new[] { action.Method.Module.Assembly, typeof(Sandbox).Assembly })
        {
            foreach (var name in assembly.GetReferencedAssemblies())
                Assembly.Load(name);
        }
    }

    private static void Run(Action restrict, Action action)
    {
        LoadAssemblies(action);
        Exception? error = null;
        var thread = new Thread(() => error = Record.Exception(() =>
        {
            restrict();
            action();
        }));
        thread.Start();
        thread.Join();
        if (error is not null)
            ExceptionDispatchInfo.Throw(error);
    }

    private static uint GetNumber(SystemCall call)
    {
        var (x64, arm64) = call switch
        {
            SystemCall.EpollCreate => (291u, 20u),
            SystemCall.EventCreate => (290u, 19u),
            SystemCall.Open => (257u, 56u),
            SystemCall.ReadLink => (89u, 78u),
            SystemCall.Rename => (82u, 38u),
            SystemCall.Shutdown => (48u, 210u),
            SystemCall.Statx => (332u, 291u),
            SystemCall.Unlink => (87u, 35u),
            _ => throw new ArgumentOutOfRangeException(nameof(call)),
        };
        return RuntimeInformation.ProcessArchitecture == Architecture.X64 ? x64 : arm64;
    }

    [LibraryImport("libc")]
    private static partial int prctl(int option, nint second, nint third, nint fourth, nint fifth);

    [LibraryImport("libc")]
    private static partial nint syscall(nint number, nint first, nint second, nint third);

    [LibraryImport("libc")]
    private static partial int setfsuid(uint user);

    [LibraryImport("libc")]
    private static partial int setfsgid(uint group);

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
