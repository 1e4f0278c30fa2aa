namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Wrong arguments to a body stream are refused as by other streams, and no byte is moved.</summary>
public sealed class BodyArgumentTests
{
    private static readonly Dictionary<string, Func<Stream, byte[], int, int, Task>> s_calls = new()
    {
        ["Read"] = static (stream, buffer, offset, count) => Task.FromResult(stream.Read(buffer, offset, count)),
        ["ReadAsync"] = static (stream, buffer, offset, count) => stream.ReadAsync(buffer, offset, count),
        ["Write"] = static (stream, buffer, offset, count) => Run(() => stream.Write(buffer, offset, count)),
        ["WriteAsync"] = static (stream, buffer, offset, count) => stream.WriteAsync(buffer, offset, count),
    };

    public static TheoryData<string, int?, int, int> Arguments()
    {
        var data = new TheoryData<string, int?, int, int>();
        foreach (var call in s_calls.Keys)
        {
            data.Add(call, null, 0, 0);
            data.Add(call, 10, -1, 5);
            data.Add(call, 10, 5, -1);
            data.Add(call, 10, 6, 5);
            data.Add(call, 10, 11, 0);
        }

        return data;
    }

    [Theory, MemberData(nameof(Arguments))]
    public async Task Arguments_Wrong_AsAMemoryStream(string call, int? length, int offset, int count)
    {
        var buffer = length is null ? null! : new byte[length.Value];
        var expected = await Record.ExceptionAsync(
            () => s_calls[call](new MemoryStream("body"u8.ToArray()), buffer, offset, count));
        Exception? actual = null;
        var response = await TestServer.AskAsync(async context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            actual = await Record.ExceptionAsync(
                () => s_calls[call](
                    call.StartsWith("Read", StringComparison.Ordinal) ? context.Request.Body : context.Response.Body,
                    buffer,
                    offset,
                    count));
            await Apps.BodyHash(context);
        }, RecordBytes.Post(1, "/", "body"u8.ToArray()));

        Assert.Equal(Apps.HashOf("body"u8.ToArray()), response.Text);
        Assert.NotNull(expected);
        Assert.Equal(
            (expected.GetType(), (expected as ArgumentException)?.ParamName),
            (actual?.GetType(), (actual as ArgumentException)?.ParamName));
    }

    private static Task Run(Action action)
    {
        action();
        return Task.CompletedTask;
    }
}
