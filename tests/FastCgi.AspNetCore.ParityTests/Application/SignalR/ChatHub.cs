using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.SignalR;

namespace FastCgi.AspNetCore.ParityTests.Application.SignalR;

/// <summary>A hub that is called, calls back, and streams both ways.</summary>
internal sealed class ChatHub : Hub
{
    public override Task OnConnectedAsync()
        => Clients.Caller.SendAsync("welcome", Context.GetHttpContext()?.Connection.RemoteIpAddress?.ToString());

    public string Echo(string text) => text;

    public Task SendToAll(string text) => Clients.All.SendAsync("said", text);

    public async Task<string> AskBack()
        => await Clients.Caller.InvokeAsync<string>("question", "who are you?", Context.ConnectionAborted);

    public async IAsyncEnumerable<int> Count(int upTo, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        for (var i = 1; i <= upTo; i++)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await Task.Yield();
            yield return i;
        }
    }

    public async Task<int> Sum(IAsyncEnumerable<int> numbers)
    {
        var sum = 0;
        await foreach (var number in numbers)
            sum += number;
        return sum;
    }

    public void Fail() => throw new HubException("It failed in the hub.");
}
