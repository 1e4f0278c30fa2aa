namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>A system that fails in one way, with real threads.</summary>
internal sealed class BrokenPlatform(string what) : ThreadPlatform(NullLogger.Instance)
{
    public bool IsBroken { get; set; } = true;

    public override void Start(string name, ThreadBody body)
    {
        Fail("thread");
        base.Start(name, body);
    }

    public override ThreadProbe? ProbeThisThread()
    {
        Fail("probe");
        return null;
    }

    public override void OnFailed(Exception exception)
    {
    }

    private void Fail(string call)
    {
        if (IsBroken && call == what)
            throw new InvalidOperationException("on purpose");
    }
}
