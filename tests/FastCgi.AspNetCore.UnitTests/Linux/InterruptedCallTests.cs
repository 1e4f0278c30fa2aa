namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>A signal ends a call of the system that waits (EINTR): that is no failure.</summary>
public sealed partial class InterruptedCallTests : IDisposable
{
    // A signal without a handler interrupts nothing. This one means nothing to .NET, and its default is to be ignored.
    private const int WindowChanged = 28;

    // MSG_DONTWAIT: .NET does not make a socket block again.
    private const int NotWaiting = 0x40;

    // SO_SNDTIMEO. With it the system does not begin the call again by itself.
    private const int SendTimeout = 21;

    // epoll_wait, epoll_pwait, sendto and sendmsg.
    private static readonly int[] s_waits = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? [232, 281, 44, 46] : [22, 206, 211];

    private readonly PosixSignalRegistration _handler = PosixSignalRegistration.Create(PosixSignal.SIGWINCH, static _ => { });

    public void Dispose() => _handler.Dispose();

    [Fact]
    public async Task EpollWait_IsInterrupted_NoEvent()
    {
        using var epoll = new EpollHandle();
        var count = await InterruptAsync(() => Wait(epoll));

        Assert.Equal(0, count);
    }

    [Fact]
    public void EpollWait_Refused_IsNoTimeOut()
    {
        using var epoll = new EpollHandle();

        // It has no room for any event.
        Assert.Equal(-1, WaitFor(epoll, maxEvents: 0));
        Assert.Equal(Libc.ErrorInvalid, Libc.LastError);
    }

    /// <summary>A socket that blocks, for only such a one is interrupted.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Send_IsInterrupted_GoesOn(int count)
    {
        using var listener = TestSockets.ListenUnix();
        using var sender = TestSockets.Connect(listener);
        using var receiver = listener.Accept();
        sender.SendBufferSize = 4_096;
        sender.SetRawSocketOption(1, SendTimeout, MemoryMarshal.AsBytes<nint>([(nint)Waiting.Patience.TotalSeconds, 0]));
        // Full, so that the next send waits before it has sent anything.
        var filled = Fill((int)sender.Handle);
        var pool = new BufferPool();
        var chain = new BufferChain();
        for (var i = 0; i < count; i++)
        {
            var block = pool.RentBlock(100);
            block.Append(Enumerable.Repeat((byte)(i + 1), 100).ToArray());
            chain.Append(block);
        }

        var isLost = await InterruptAsync(
            () =>
            {
                var offset = 0;
                Assert.Null(SocketSend.Send((int)sender.Handle, chain.Head!, ref offset, out var isLost));
                return isLost;
            },
            () => TestSockets.Receive(receiver, filled));

        Assert.False(isLost);
        Assert.Equal(Enumerable.Range(1, count).SelectMany(static i => Enumerable.Repeat((byte)i, 100)), TestSockets.Receive(receiver, count * 100));
        BufferBlock.ReturnChain(chain.Head!);
    }

    private static unsafe int Fill(int socket)
    {
        var bytes = stackalloc byte[100];
        var filled = 0;
        while (Libc.Send(socket, bytes, 100, NotWaiting) is > 0 and var sent)
            filled += (int)sent;
        return filled;
    }

    private static int Wait(EpollHandle epoll) => WaitFor(epoll, maxEvents: 1);

    private static unsafe int WaitFor(EpollHandle epoll, int maxEvents)
    {
        var room = stackalloc EpollEvent[1];
        return epoll.Wait(room, maxEvents, (int)Waiting.Patience.TotalMilliseconds);
    }

    /// <summary>Makes a call on a thread, interrupts it when it waits, and then does what it waits for.</summary>
    private static async Task<T> InterruptAsync<T>(Func<T> call, Action? release = null)
    {
        var id = 0;
        var result = Waiting.Signal<T>();
        var thread = new Thread(() =>
        {
            Volatile.Write(ref id, ThreadClock.GetThreadId());
            try
            {
                result.SetResult(call());
            }
            catch (Exception exception)
            {
                result.SetException(exception);
            }
        })
        { IsBackground = true };
        thread.Start();
        await Waiting.UntilAsync(() => Volatile.Read(ref id) != 0, "the thread");
        await Waiting.UntilAsync(() => IsInterruptible(id), "the call to wait");
        _ = tgkill(Environment.ProcessId, id, WindowChanged);
        if (release is not null)
        {
            await Waiting.UntilAsync(() => IsInterruptible(id), "the call to wait again");
            release();
        }

        return await result.Task.Within("the call");
    }

    /// <summary>Whether a thread is in one of the calls, and has no signal to take before. It may sleep elsewhere, as for a lock of the runtime.</summary>
    private static bool IsInterruptible(int thread)
    {
        var folder = string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{thread}");
        var pending = File.ReadLines(Path.Combine(folder, "status")).First(static line => line.StartsWith("SigPnd:", StringComparison.Ordinal));
        return pending.AsSpan(pending.IndexOf('\t') + 1).IndexOfAnyExcept('0') < 0
            && int.TryParse(File.ReadAllText(Path.Combine(folder, "syscall")).Split(' ')[0], CultureInfo.InvariantCulture, out var call)
            && s_waits.Contains(call);
    }

    [LibraryImport("libc")]
    private static partial int tgkill(int process, int thread, int signal);
}
