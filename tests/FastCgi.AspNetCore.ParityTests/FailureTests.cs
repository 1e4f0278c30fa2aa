namespace FastCgi.AspNetCore.ParityTests;

/// <summary>Applications that fail, and their error pages.</summary>
public sealed class FailureTests(ParitySites sites) : ParityTest(sites)
{
    public static TheoryData<string> Targets { get; } =
    [
        .. from prefix in (string[])["/failures", "/handled"]
           from failure in (string[])["before", "after", "too-many", "too-few"]
           select $"{prefix}/{failure}",
        .. from prefix in (string[])["/pages", "/pages-again", "/pages-elsewhere"]
           from failure in (string[])["status/404", "status/503", "status/200", "nowhere", "before"]
           select $"{prefix}/{failure}",
    ];

    [Theory]
    [MemberData(nameof(Targets))]
    [Contract("B9")]
    public Task Get_Failure_IsTheSame(string target) => CompareAsync(client => client.GetAsync(target));

    [Theory]
    [InlineData("/failures/abort")]
    [InlineData("/handled/abort")]
    public Task Get_Abort_IsTheSame(string target) => CompareAsync(async client =>
    {
        await client.GetAsync(target);
        await client.Exchanges[^1].Seen!.Aborted.WaitAsync(Waiting.Patience);
    });

    [Fact]
    public Task Get_DeveloperPage_IsTheSame() => CompareAsync(
        client => client.SendAsync(ClientRequest.Get("/developer/before").With("Accept", "text/plain")));

    [Fact]
    public Task Send_FailureOfAnotherMethod_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Post("/handled/before", "text/plain", "the body"));
        await client.SendAsync(ClientRequest.Post("/failures/before", "text/plain", new string('x', 200_000)));
        await client.SendAsync(new ClientRequest("HEAD", "/pages/nowhere"));
        await client.GetAsync("/results/text");
    });
}
