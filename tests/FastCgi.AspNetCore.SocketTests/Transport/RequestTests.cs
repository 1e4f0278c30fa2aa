using System.Security.Cryptography;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Requests and responses of all sizes and cuts, on every engine.</summary>
public sealed class RequestTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Upload_OfManyReceives_ArrivesWhole(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(setup, static app =>
            app.MapPost("/hash", static async (HttpRequest request) => Convert.ToHexString(
                await SHA256.HashDataAsync(request.Body))));
        using var connection = await server.ConnectAsync();
        var body = RandomNumberGenerator.GetBytes(8 * 1024 * 1024);

        await connection.SendAsync(RecordBytes.Post(1, "/hash", body));

        Assert.Equal(
            Convert.ToHexString(SHA256.HashData(body)), Encoding.ASCII.GetString(await connection.ReadBodyAsync()));
    }

    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Download_ReaderIsSlow_HandlerWaitsAndAllArrives(TransportSetup setup)
    {
        const int BlockLength = 1024 * 1024;
        const int Blocks = 32;
        var begun = Waiting.Signal();
        var written = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup, app => app.MapGet("/", async (HttpResponse response) =>
            {
                for (var i = 0; i < Blocks; i++)
                {
                    begun.TrySetResult();
                    await response.Body.WriteAsync(Enumerable.Repeat((byte)i, BlockLength).ToArray());
                }

                written.SetResult();
            }));
        using var connection = await server.ConnectAsync();

        await connection.SendAsync(RecordBytes.Get());
        await begun.Task.Within("the first block");
        Assert.False(written.Task.IsCompleted);

        var body = await connection.ReadBodyAsync();
        Assert.Equal(Blocks * BlockLength, body.Length);
        for (var i = 0; i < Blocks; i++)
            Assert.False(body.AsSpan(i * BlockLength, BlockLength).ContainsAnyExcept((byte)i));
        await written.Task.Within("the handler");
    }
}
