using System.Globalization;
using System.Text;

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
        using var client = await FastCgiClient.ConnectAsync(application.EndPoint);

        var answers = ReadAnswersAsync(client);
        await SendRequestsAsync(client);

        foreach (var (id, answer) in await answers.WaitAsync(FrontEndTest.Patience))
        {
            var body = answer.AsSpan(answer.AsSpan().IndexOf("\r\n\r\n"u8) + 4);
            Assert.Equal(Content.Hash(Content.Create(BodyLength - id)), Encoding.ASCII.GetString(body[..64]));
            Assert.True(body[64..].SequenceEqual(Content.Create(BodyLength + id)), $"The answer of request {id} is another.");
        }

        application.Log.Verify();
    }

    /// <summary>Begins all requests, and sends a piece of each body in turn.</summary>
    private static async Task SendRequestsAsync(FastCgiClient client)
    {
        var bodies = Enumerable.Range(1, RequestCount).ToDictionary(static id => id, static id => Content.Create(BodyLength - id));
        foreach (var (id, body) in bodies)
        {
            await client.SendAsync(RecordBytes.Begin(id));
            await client.SendAsync(RecordBytes.ParamsStream(
                id, RecordBytes.RequestParams("POST", $"/{id}", ("CONTENT_LENGTH", body.Length.ToString(CultureInfo.InvariantCulture)))));
        }

        for (var sent = 0; sent < BodyLength; sent += PieceLength)
        {
            foreach (var (id, body) in bodies)
                await client.SendAsync(RecordBytes.Record(RecordBytes.Stdin, id, body.AsSpan(sent, Math.Min(PieceLength, body.Length - sent))));
        }

        foreach (var id in bodies.Keys)
            await client.SendAsync(RecordBytes.Record(RecordBytes.Stdin, id));
    }

    private static async Task<Dictionary<int, byte[]>> ReadAnswersAsync(FastCgiClient client)
    {
        var answers = Enumerable.Range(1, RequestCount).ToDictionary(static id => id, static _ => new MemoryStream());
        for (var ended = 0; ended < RequestCount;)
        {
            var record = await client.ReadRecordAsync() ?? throw new EndOfStreamException();
            if (record.Type == RecordBytes.EndRequest)
                ended++;
            else
                answers[record.Id].Write(record.Content);
        }

        return answers.ToDictionary(static answer => answer.Key, static answer => answer.Value.ToArray());
    }
}
