namespace FastCgi.AspNetCore.Linux;

/// <summary>struct epoll_event at its maximum size: it is packed on x86-64 and aligned on other processors.</summary>
[StructLayout(LayoutKind.Sequential, Size = 16)]
internal unsafe struct EpollEvent
{
    private static readonly bool s_isPacked = RuntimeInformation.ProcessArchitecture == Architecture.X64;

    private fixed byte _bytes[16];

    public static int Stride => s_isPacked ? 12 : 16;

    public uint Events
    {
        get => Unsafe.ReadUnaligned<uint>(ref _bytes[0]);
        set => Unsafe.WriteUnaligned(ref _bytes[0], value);
    }

    public ulong Data
    {
        get => Unsafe.ReadUnaligned<ulong>(ref _bytes[s_isPacked ? 4 : 8]);
        set => Unsafe.WriteUnaligned(ref _bytes[s_isPacked ? 4 : 8], value);
    }

    public static EpollEvent* At(EpollEvent* events, int index) => (EpollEvent*)((byte*)events + (index * Stride));
}
