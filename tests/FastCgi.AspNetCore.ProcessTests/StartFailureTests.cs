namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The last line of an application that cannot start says why, and what to do.</summary>
public sealed class StartFailureTests
{
    [Theory]
    [InlineData("fastcgi://unix:/nowhere/app.sock", "Failed to listen on fastcgi://unix:/nowhere/app.sock: the folder of the socket does not exist")]
    [InlineData("fastcgi:///run/app.sock", "The address 'fastcgi:///run/app.sock' is not valid: the path of a Unix socket needs the prefix unix:")]
    [InlineData("fastcgi://192.0.2.1:9000", "Failed to listen on fastcgi://192.0.2.1:9000: this machine does not have the address.")]
    public Task Address_ThatCannotBeBound_IsTheLastLine(string address, string explanation) => AssertLastLineAsync(explanation, "--urls", address);

    [Fact]
    public Task Option_ThatIsUnknown_IsTheLastLine() => AssertLastLineAsync(
        "Configuration: FastCgi:Limits:MaxConcurentRequests is not an option of the FastCGI server. Did you mean FastCgi:Limits:MaxConcurrentRequests?",
        "--FastCgi:Limits:MaxConcurentRequests", "3");

    private static async Task AssertLastLineAsync(string explanation, params string[] arguments)
    {
        await using var application = Starter.Start(["sh", "-c", "exec \"$@\" 2>&1", "sh", Starter.Application, .. arguments]);

        Assert.Equal(1, await application.WaitForExitAsync());
        var lines = application.Output.TrimEnd().Split('\n');
        Assert.StartsWith(explanation, lines[^1], StringComparison.Ordinal);
        Assert.Contains(lines, static line => line.Contains("Hosting failed to start", StringComparison.Ordinal));
    }
}
