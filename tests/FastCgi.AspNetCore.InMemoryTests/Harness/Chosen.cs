using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Passes on to the runner that a test has chosen.</summary>
internal sealed class ChosenRunner : RequestRunner
{
    public RequestRunner Runner { get; set; } = null!;

    public override void Run(FastCgiRequest request) => Runner.Run(request);

    public override void Leave(FastCgiRequest request) => Runner.Leave(request);
}

/// <summary>Passes on to the deadlines that a test has chosen.</summary>
internal sealed class ChosenDeadlines
{
    public Func<ResponseOutput, bool>? TrySet { get; set; }

    public bool TrySetDeadline(ResponseOutput response) => TrySet?.Invoke(response) ?? false;
}
