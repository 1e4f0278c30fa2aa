namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Wrong arguments to a body stream are refused as by other streams, and no byte is moved.</summary>
public sealed class BodyArgumentTests
{
    private static readonly (byte[] Buffer, int Offset, int Count)[] s_wrong =
        [(null!, 0, 0), (new byte[10], -1, 5), (new byte[10], 5, -1), (new byte[10], 6, 5), (new byte[10], 11, 0)];

    [Fact]
    public async Task Arguments_Wrong_AsAMemoryStream()
    {
        List<string> refusals = [];
        var response = await TestServer.AskAsync(async context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            refusals = await RefuseAsync(context.Request.Body, context.Response.Body);
            await Apps.BodyHash(context);
        }, RecordBytes.Post(1, "/", "body"u8.ToArray()));

        Assert.Equal(Apps.HashOf("body"u8.ToArray()), response.Text);
        Assert.Equal(await RefuseAsync(new MemoryStream("body"u8.ToArray()), new MemoryStream()), refusals);
    }

    private static async Task<List<string>> RefuseAsync(Stream input, Stream output)
    {
        var refusals = new List<string>();
        foreach (var (buffer, offset, count) in s_wrong)
        {
            await NoteAsync(() => Task.FromResult(input.Read(buffer, offset, count)));
            await NoteAsync(() => input.ReadAsync(buffer, offset, count));
            await NoteAsync(() => output.WriteAsync(buffer, offset, count));
            await NoteAsync(() =>
            {
                output.Write(buffer, offset, count);
                return Task.CompletedTask;
            });
        }

        return refusals;

        async Task NoteAsync(Func<Task> call)
        {
            var error = await Assert.ThrowsAnyAsync<Exception>(call);
            refusals.Add($"{error.GetType()} {(error as ArgumentException)?.ParamName}");
        }
    }
}
