namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Records that belong to no request.</summary>
public class InactiveIdTests
{
    [Theory, Values(RecordBytes.Stdin, RecordBytes.Params, RecordBytes.Data, RecordBytes.AbortRequest)]
    public async Task RECORD_OfAnInactiveId_IgnoredAndConnectionContinues(byte type)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        await frontEnd.AskAsync(RecordBytes.Get(5));

        // Of a request that has ended, and of one that never began.
        foreach (var id in new[] { 5, 6 })
            frontEnd.Send(RecordBytes.Record(type, id, [1, 2, 3]), RecordBytes.Record(type, id));

        Assert.Empty(frontEnd.ReadAvailable());
        Assert.Equal("Hello", (await frontEnd.AskAsync(RecordBytes.Get(5))).Text);
    }

    [Fact]
    public async Task RECORD_LargestContentAndPadding_NothingOfItIsReadAsAHeader()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        // Where the sum of the lengths wraps at 16 bits, 254 bytes are skipped, and what follows is this request.
        var smuggled = new byte[65_535];
        RecordBytes.Get(9).CopyTo(smuggled, 254);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 8, smuggled, padding: 255), RecordBytes.Get(1));

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        Assert.Empty(frontEnd.ReadAvailable());
    }
}
