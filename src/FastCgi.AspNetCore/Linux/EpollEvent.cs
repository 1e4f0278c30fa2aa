using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// struct epoll_event, in the room that it takes at the most: it is packed on x86-64 and aligned everywhere else, so its size and
/// the place of its data depend on the processor.
/// </summary>
[StructLayout(LayoutKind.Sequential, Size = 16)]
internal unsafe struct EpollEvent
{
    private static readonly bool s_isPacked = RuntimeInformation.ProcessArchitecture == Architecture.X64;

    private fixed byte _bytes[16];

    /// <summary>The bytes from one event to the next in an array.</summary>
    public static int Stride => s_isPacked ? 12 : 16;

    /// <summary>What happened, or what is of interest.</summary>
    public uint Events
    {
        get => Unsafe.ReadUnaligned<uint>(ref _bytes[0]);
        set => Unsafe.WriteUnaligned(ref _bytes[0], value);
    }

    /// <summary>Who it happened to.</summary>
    public ulong Data
    {
        get => Unsafe.ReadUnaligned<ulong>(ref _bytes[s_isPacked ? 4 : 8]);
        set => Unsafe.WriteUnaligned(ref _bytes[s_isPacked ? 4 : 8], value);
    }

    /// <summary>The event at a place of an array that the system has filled.</summary>
    public static EpollEvent* At(EpollEvent* events, int index) => (EpollEvent*)((byte*)events + (index * Stride));
}
