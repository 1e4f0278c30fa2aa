namespace FastCgi.AspNetCore.InMemoryTests;

internal sealed class ChosenDeadlines
{
    public Func<ResponseOutput, bool>? TrySet { get; set; }

    public bool TrySetDeadline(ResponseOutput response) => TrySet?.Invoke(response) ?? false;
}
