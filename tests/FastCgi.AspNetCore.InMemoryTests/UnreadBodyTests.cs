namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>An unread body delays the other requests of its connection for a bounded time only.</summary>
public class UnreadBodyTests
{
    // Two requests at a time, so that the connection is known to carry several.
    private const string Share = "begin:7+begin:8+abort:7+abort:8 7:end 8:end ";

    // One byte more than the window of 10,000.
    private const string Unread = "post30000/slow-hash+stdin10001 paused ";

    [Fact]
    public Task STDIN_UnreadBeyondTheWindowAmongOthers_PausesThenIsRefusedAndOthersContinue() => PlayAsync(
        Share + Unread + "4s unresumed 1s resumed stdin19999+stdin+post30000:2/hash+stdin30000:2+stdin:2 unpaused "
            + "2:200 go 503",
        isRefused: true);

    [Fact]
    public Task STDIN_UnreadAfterGetValuesAnnouncedMultiplexing_IsRefused()
        => PlayAsync("ask skip " + Unread + "6s resumed go 503", isRefused: true);

    [Theory]
    [InlineData(Share + "post30000/slow+stdin10001 paused 6s resumed go 200")]
    // The reader is completed while receiving is paused.
    [InlineData("post30000/complete+stdin10001 paused go resumed stdin19999+stdin unpaused abort end")]
    [InlineData("get:2/wait post30000/abort+stdin10001 paused go end resumed")]
    public Task STDIN_NeverRead_ReceivingResumesAndTheAnswerIsTheApplications(string script) => PlayAsync(script);

    [Theory]
    [InlineData(Unread + "1h unresumed go resumed stdin19999+stdin 200")]
    [InlineData("post30000/slow-hash.last+stdin10001 paused 1h unresumed go resumed stdin19999+stdin 200")]
    public Task STDIN_UnreadOnAConnectionOfOneRequestAtATime_WaitsWithoutLimit(string script) => PlayAsync(script);

    private static Task PlayAsync(string script, bool isRefused = false) => Script.PlayAsync(
        script,
        static limits => limits.MaxRequestBufferSize = 10_000,
        expects: isRefused ? "ApplicationError" : null,
        server => Assert.True(
            !isRefused || server.Context.Counters.RejectedRequests.Single(
                static count => count.Key == RequestRejection.RequestBodyBacklog).Value == 1));
}
