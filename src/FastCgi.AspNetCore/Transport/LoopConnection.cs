namespace FastCgi.AspNetCore.Transport;

/// <summary>A connection of a loop. Only the loop's thread receives and closes. Any thread may send.</summary>
internal abstract class LoopConnection : ConnectionTransport
{
    private const int Turn = 1;
    private const int Sent = 2;

    private int _posted;

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

    public override bool TryPostSent()
    {
        Post(Sent);
        return true;
    }

    /// <summary>Sends, receives, or executes the action of DecideClose. Called on the loop's thread.</summary>
    public void TakeTurn()
    {
        var posted = Interlocked.Exchange(ref _posted, 0);
        if ((posted & Sent) != 0)
            Connection.Output.OnSent();
        if ((posted & Turn) != 0)
            OnTurn();
    }

    /// <summary>Ends the connection after an error of the server. Called on the loop's thread.</summary>
    public void Fail()
        => ThreadRoot.Run(
            this, static connection => connection.Connection.Fail(), Loop.Log,
                static connection => connection.CloseNow());

    public abstract void CloseNow();

    protected abstract void OnTurn();

    /// <summary>Makes the loop give this connection a turn. Any thread may call it.</summary>
    protected void Post() => Post(Turn);

    private void Post(int reason)
    {
        if (Interlocked.Or(ref _posted, reason) == 0)
            Loop.Post(this);
    }
}
