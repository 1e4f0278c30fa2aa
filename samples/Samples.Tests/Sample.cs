using System.Text.RegularExpressions;

namespace Samples.Tests;

/// <summary>A sample and its web server, as <c>samples/run.sh</c> starts them.</summary>
internal sealed partial class Sample : IAsyncDisposable
{
    private readonly PortReservation _port = new();
    private readonly ServerProcess _process;

    private Sample(IReadOnlyDictionary<string, string> environment, string[] arguments)
        => _process = ServerProcess.Start(
            "env",
            [
                .. environment.Select(static item => $"{item.Key}={item.Value}"),
                $"{Repository.Root}/samples/run.sh",
                .. arguments,
                "--port",
                $"{Port}",
                "--no-build",
                Repository.Configuration,
            ]);

    public int Port => _port.EndPoint.Port;

    /// <summary>Starts a sample and waits until its web server listens.</summary>
    public static Task<Sample> StartAsync(params string[] arguments)
        => StartAsync(new Dictionary<string, string>(), arguments);

    /// <inheritdoc cref="StartAsync(string[])"/>
    public static async Task<Sample> StartAsync(
        IReadOnlyDictionary<string, string> environment, params string[] arguments)
    {
        var sample = new Sample(environment, arguments);
        try
        {
            await Waiting.UntilAsync(
                () => Task.FromResult(
                    sample._process.Output.Contains("until you press Ctrl-C", StringComparison.Ordinal)),
                () => sample._process.HasExited ? sample.GetFailure() : null,
                "the sample to start");
            return sample;
        }
        catch
        {
            await sample.DisposeAsync();
            throw;
        }
    }

    public HttpClient CreateClient()
        => new() { BaseAddress = new Uri($"http://localhost:{Port}"), Timeout = Waiting.Patience };

    /// <summary>Fails if the application has logged a warning or an error.</summary>
    public void AssertNothingIsWrong()
        => Assert.DoesNotContain(_process.Output.Split('\n'), static line => Problem().IsMatch(line));

    /// <remarks>On a new machine, Data Protection warns that it stores its first key unencrypted.</remarks>
    [GeneratedRegex("^(warn: (?!Microsoft\\.AspNetCore\\.DataProtection\\.)|fail: |crit: )")]
    private static partial Regex Problem();

    private string GetFailure()
    {
        Programs.RequireNamedIn(_process.Output);
        return _process.Output;
    }

    public async ValueTask DisposeAsync()
    {
        await _process.DisposeAsync();
        _port.Dispose();
    }
}
