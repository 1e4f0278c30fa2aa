namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>Accepts everything at once.</summary>
internal sealed class FuzzTransport : ConnectionTransport
{
    private readonly Lock _lock = new();
    private byte[] _sent = new byte[4_096];
    private int _length;

    public required RequestScheduler Scheduler { get; init; }

    public FastCgiConnection Connection { get; set; } = null!;

    public override EndPoint? RemoteEndPoint => null;

    public override bool CanReset => true;

    public bool IsClosed { get; private set; }

    public bool IsReset { get; private set; }

    public override bool Send(BufferBlock chain)
    {
        lock (_lock)
        {
            for (var block = chain; block is not null; block = block.Next)
            {
                if (_length + block.Length > _sent.Length)
                    Array.Resize(ref _sent, Math.Max(2 * _sent.Length, _length + block.Length));
                block.UsedSpan.CopyTo(_sent.AsSpan(_length));
                _length += block.Length;
            }
        }

        return true;
    }

    public override void Close()
    {
        switch (Connection.DecideClose())
        {
            case CloseAction.Close or CloseAction.HalfClose or CloseAction.ResetUnlessInput:
                IsClosed = true;
                break;
            case CloseAction.Reset:
                IsReset = true;
                break;
        }
    }

    public override void Run(ref ReadyRequests ready) => Scheduler.Run(ref ready, Connection.Output);

    public override void ResumeReceiving()
    {
    }

    /// <summary>What was sent so far, without a copy.</summary>
    public ReadOnlySpan<byte> GetSent()
    {
        lock (_lock)
            return _sent.AsSpan(0, _length);
    }
}
