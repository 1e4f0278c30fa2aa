using System.Buffers.Binary;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using FastCgi.AspNetCore.Testing;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// Uploads and downloads of many records each, all at a time over one real connection, which no web server can be made to do without
/// faults of its own.
/// </summary>
public sealed class MultiplexedSocketTests
{
    private const int RequestCount = 20;
    private const int BodyLength = 400_000;
    private const int PieceLength = 20_000;

    [Theory]
    [InlineData(FastCgiTransportEngine.Epoll)]
    [InlineData(FastCgiTransportEngine.Socket)]
    public async Task Requests_UploadsBesideDownloads_EachAnswerIsRight(FastCgiTransportEngine engine)
    {
        await using var application = await TestApplication.StartAsync(
            "fastcgi://127.0.0.1:0",
            app => app.MapPost("/{id:int}", static async (int id, HttpContext context) =>
            {
                var hash = await Content.HashAsync(context.Request.Body);
                await context.Response.Body.WriteAsync(Encoding.ASCII.GetBytes(hash));
                await context.Response.Body.WriteAsync(Content.Create(BodyLength + id));
            }),
            options =>
            {
                options.Transport.Engine = engine;
                // Receiving pauses and resumes all the time, beside the sends.
                options.Limits.MaxRequestBufferSize = PieceLength;
            });
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(application.EndPoint);
        await using var stream = new NetworkStream(socket);

        var answers = ReadAnswersAsync(stream);
        await SendRequestsAsync(stream);

        foreach (var (id, answer) in await answers.WaitAsync(FrontEndTest.Patience))
        {
            var body = answer.AsSpan(answer.AsSpan().IndexOf("\r\n\r\n"u8) + 4);
            Assert.Equal(Content.Hash(Content.Create(BodyLength - id)), Encoding.ASCII.GetString(body[..64]));
            Assert.True(body[64..].SequenceEqual(Content.Create(BodyLength + id)), $"The answer of request {id} is another.");
        }

        application.Log.Verify();
    }

    /// <summary>Begins all requests, and sends a piece of each body in turn.</summary>
    private static async Task SendRequestsAsync(NetworkStream stream)
    {
        var bodies = Enumerable.Range(1, RequestCount).ToDictionary(static id => id, static id => Content.Create(BodyLength - id));
        foreach (var (id, body) in bodies)
        {
            await stream.WriteAsync(RecordBytes.Begin(id));
            await stream.WriteAsync(RecordBytes.ParamsStream(
                id, RecordBytes.RequestParams("POST", $"/{id}", ("CONTENT_LENGTH", body.Length.ToString(CultureInfo.InvariantCulture)))));
        }

        for (var sent = 0; sent < BodyLength; sent += PieceLength)
        {
            foreach (var (id, body) in bodies)
                await stream.WriteAsync(RecordBytes.Record(RecordBytes.Stdin, id, body.AsSpan(sent, Math.Min(PieceLength, body.Length - sent))));
        }

        foreach (var id in bodies.Keys)
            await stream.WriteAsync(RecordBytes.Record(RecordBytes.Stdin, id));
    }

    private static async Task<Dictionary<int, byte[]>> ReadAnswersAsync(NetworkStream stream)
    {
        var answers = Enumerable.Range(1, RequestCount).ToDictionary(static id => id, static _ => new MemoryStream());
        var header = new byte[8];
        for (var ended = 0; ended < RequestCount;)
        {
            await stream.ReadExactlyAsync(header);
            var content = new byte[BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4)) + header[6]];
            await stream.ReadExactlyAsync(content);
            if (header[1] == RecordBytes.EndRequest)
                ended++;
            else
                answers[BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(2))].Write(content.AsSpan(0, content.Length - header[6]));
        }

        return answers.ToDictionary(static answer => answer.Key, static answer => answer.Value.ToArray());
    }
}
