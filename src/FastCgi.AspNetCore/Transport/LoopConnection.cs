namespace FastCgi.AspNetCore.Transport;

/// <summary>A connection of a loop. Only the loop's thread receives and closes. Any thread may send.</summary>
internal abstract class LoopConnection : ConnectionTransport
{
    private int _isPosted;

    protected LoopConnection(EventLoop loop, ConnectionManager manager)
    {
        Loop = loop;
        Connection = new FastCgiConnection(manager, this);
    }

    public FastCgiConnection Connection { get; }
    protected EventLoop Loop { get; }

    public override void Run(ref ReadyRequests ready)
    {
        Loop.Post(this, ready);
        ready = default;
    }

    public override void Close() => Post();

    /// <summary>Receives, or executes the action of DecideClose. Called on the loop's thread.</summary>
    public void TakeTurn()
    {
        Interlocked.Exchange(ref _isPosted, 0);
        OnTurn();
    }

    public abstract void CloseNow();

    protected abstract void OnTurn();

    /// <summary>Makes the loop give this connection a turn. Any thread may call it.</summary>
    protected void Post()
    {
        if (Interlocked.Exchange(ref _isPosted, 1) == 0)
            Loop.Post(this);
    }
}
