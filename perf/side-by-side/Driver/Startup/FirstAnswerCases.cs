using System.Net;
using System.Net.Sockets;
using System.Text;

namespace SideBySide.Driver.Startup;

/// <summary>The time from the start of a program to its first response.</summary>
internal static class FirstAnswerCases
{
    private const string Kestrel = "Kestrel, HTTP";
    private const string Own = "FastCgi.AspNetCore";

    // A start takes less than a second.
    private const int Repeat = 6;

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        yield return new Comparison(
            "first response after the start, the minimal site, framework-dependent, from the package; p50 is the time",
            new Contender(Kestrel, () => Measure(setup, "minimal", isFastCgi: false)),
                new Contender(Own, () => Measure(setup, "minimal", isFastCgi: true)))
        {
            Targets = [new Target("first response after the start, framework-dependent, from the package, relative to Kestrel", Own, Kestrel, static sample => sample.P50, Bound.AtMost(1.05))],
            Repeat = Repeat,
        };
        // A container of 256 MiB gives .NET three quarters of that for its heap.
        Environment.SetEnvironmentVariable("DOTNET_GCHeapHardLimit", "C000000");
        var small = new Setup(setup.Settings with { ServerCores = "0" });
        yield return new Comparison(
            "first response and memory on one processor, a heap of 192 MiB, the minimal site; p50 is the time",
            new Contender(Kestrel, () => Measure(small, "minimal", isFastCgi: false)),
                new Contender(Own, () => Measure(small, "minimal", isFastCgi: true)))
        {
            Targets =
            [
                new Target(
                    "one processor, a heap of 192 MiB, first response, relative to Kestrel",
                    Own,
                    Kestrel,
                    static sample => sample.P50,
                    Bound.AtMost(0.9)),
                new Target(
                    "the same, memory after it", Own, Kestrel, static sample => sample.Memory, Bound.AtMost(0.9)),
            ],
            Repeat = Repeat,
        };
        small.Dispose();
        Environment.SetEnvironmentVariable("DOTNET_GCHeapHardLimit", null);
        yield return new Comparison(
            "first response after the start, MinimalApi, self-contained, trimmed, ReadyToRun; p50 is the time",
            new Contender(Kestrel, () => Measure(setup, "MinimalApi-kestrel", isFastCgi: false)),
                new Contender(Own, () => Measure(setup, "MinimalApi", isFastCgi: true)))
        {
            Repeat = Repeat,
        };
    }

    private static Sample Measure(Setup setup, string site, bool isFastCgi)
    {
        var at = Setup.NewTcp();
        string[] arguments = isFastCgi ? Setup.FastCgi(at) : Setup.Kestrel(at);
        var executable = Path.Combine(setup.Settings.PackagedSites, site, "MinimalApi");
        var (program, options) = File.Exists(executable)
            ? (executable, arguments)
            : ("dotnet", [setup.PackagedAssembly(site), .. arguments]);
        Func<EndPoint, bool> answers = isFastCgi ? AnswersFastCgi : AnswersHttp;
        using var server = new ServerProcess(setup.Settings, at, answers, program, options);
        return new Sample { P50 = server.ReadyAfter.TotalMicroseconds, Memory = server.Memory };
    }

    private static bool AnswersFastCgi(EndPoint at)
    {
        try
        {
            return FastCgiGet.Read(at, "/").Length > 0;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    private static bool AnswersHttp(EndPoint at)
    {
        using var socket = new Socket(at.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Connect(at);
        }
        catch (SocketException)
        {
            return false;
        }

        socket.Send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"u8);
        using var stream = new StreamReader(new NetworkStream(socket), Encoding.ASCII);
        return stream.ReadToEnd().StartsWith("HTTP/1.1 200", StringComparison.Ordinal);
    }
}
