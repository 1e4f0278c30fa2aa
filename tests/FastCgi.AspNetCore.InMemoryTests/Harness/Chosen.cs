namespace FastCgi.AspNetCore.InMemoryTests;

internal sealed class ChosenRunner : RequestRunner
{
    public RequestRunner Runner { get; set; } = null!;

    public override void Run(FastCgiRequest request) => Runner.Run(request);

    public override void Leave(FastCgiRequest request) => Runner.Leave(request);
}

internal sealed class ChosenDeadlines
{
    public Func<ResponseOutput, bool>? TrySet { get; set; }

    public bool TrySetDeadline(ResponseOutput response) => TrySet?.Invoke(response) ?? false;
}
