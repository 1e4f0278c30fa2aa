namespace FastCgi.AspNetCore.Transport;

/// <summary>A loop without epoll, whose connections only post to its inbox.</summary>
internal sealed class InboxLoop(ILogger log) : EventLoop(log)
{
    private readonly ManualResetEventSlim _wakeUp = new(initialState: false, spinCount: 0);

    protected override bool HasEvent => false;

    public override void Wake() => _wakeUp.Set();

    // Not disposed of, because other threads may still wake it.
    protected override void Free()
    {
    }

    protected override void HandleEvent()
    {
    }

    protected override void WaitForEvents(int milliseconds)
    {
        Uninterrupted.Do((_wakeUp, milliseconds), static wait => wait._wakeUp.Wait(wait.milliseconds));
        _wakeUp.Reset();
    }
}
