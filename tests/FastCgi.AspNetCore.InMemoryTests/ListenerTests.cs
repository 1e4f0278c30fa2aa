using System.Net;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A listener that fails is told of, and harms nobody else.</summary>
public class ListenerTests
{
    [Fact]
    [Trait("Contract", "G5")]
    public async Task Accept_Fails_CriticalAndTheOthersGoOn()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        server.Logs.Expected.Add("AcceptLoopFailed");
        var listener = new PipeListener(new FailingListener(), PeerPolicy.Everybody, server.Connections, server.Scheduler);

        listener.Start();
        await listener.StopAsync(default);

        Assert.Equal(LogLevel.Critical, Assert.Single(server.Logs.All, static log => log.EventName == "AcceptLoopFailed").Level);
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    private sealed class FailingListener : IConnectionListener
    {
        public EndPoint EndPoint { get; } = new IPEndPoint(IPAddress.Loopback, 9000);

        public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) => throw new IOException("on purpose");

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default) => ValueTask.CompletedTask;

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
