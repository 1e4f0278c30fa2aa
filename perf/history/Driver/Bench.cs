using System.Diagnostics;
using System.Globalization;
using System.Net;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>Starts the servers of the records and loads them.</summary>
internal sealed class Bench(Settings settings, Setup setup)
{
    private static readonly HttpClient s_http = new(
        new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false });

    public Settings Settings => settings;

    public Setup Setup => setup;

    private string Assembly => Path.Combine(settings.Site, "History.Site.dll");

    /// <summary>The number for a full run, or for a quick run.</summary>
    public int Choose(int full, int quick) => settings.IsQuick ? quick : full;

    /// <summary>Starts the application on the FastCGI server.</summary>
    public ServerProcess StartFastCgi(EndPoint at, params string[] options)
        => StartSite(at, ["--server", "fastcgi", "--urls", FastCgiUrl(at), .. options]);

    /// <summary>Starts the application on the FastCGI server, on two sockets.</summary>
    public ServerProcess StartFastCgi(EndPoint at, EndPoint second) => StartSite(at, ["--server", "fastcgi", "--urls",
        $"{FastCgiUrl(at)};{FastCgiUrl(second)}"]);

    /// <summary>Starts the application on Kestrel.</summary>
    public ServerProcess StartKestrel(EndPoint at, params string[] options) =>
        setup.Start(at, "env", [Setup.DefaultSpinning, "dotnet", Assembly, .. Setup.Kestrel(at), .. options]);

    /// <summary>
    /// Starts the page on HttpListener, which fails if a connection arrives while it starts, so no connection tests
    /// whether it is listening.
    /// </summary>
    public ServerProcess StartListener(IPEndPoint at) =>
        setup.StartWhen(
            at,
            IsListed,
            "env",
            Setup.DefaultSpinning,
            "dotnet",
            Assembly,
            "--server",
            "httplistener",
            "--urls",
            $"http://{at}");

    public AbResult Load(
        ServerProcess server, string path, int requests, int connections, bool keepAlive = false, int seconds = 0)
    {
        var result = ApacheBench.Run(settings, server.EndPoint, path, requests, connections, keepAlive, seconds);
        Log($"{server.EndPoint}{path} -n {requests} -c {connections}{(keepAlive ? " -k" : "")}: {result.Rate:0}/s, longest {result.Longest} ms, " +
            $"{result.Failed} failed");
        return result;
    }

    /// <summary>Lets the runtime compile the hot code.</summary>
    public void WarmUp(ServerProcess server, string path)
    {
        Check(server.EndPoint, path);
        var clock = Stopwatch.StartNew();
        do
        {
            ApacheBench.Run(settings, server.EndPoint, path, 5_000, 20, keepAlive: true);
        }
        while (clock.Elapsed < TimeSpan.FromSeconds(Choose(6, 2)));
    }

    /// <summary>Checks that the page works: ab accepts any response whose length stays the same.</summary>
    public static void Check(EndPoint server, string path)
    {
        using var answer = s_http.GetAsync(new Uri($"http://{server}{path}")).GetAwaiter().GetResult();
        if (answer.StatusCode != HttpStatusCode.OK)
            throw new InvalidOperationException($"{path} is answered with {answer.StatusCode}.");
    }

    /// <summary>Gets a page over HTTP with a browser's headers.</summary>
    public static string Get(EndPoint server, string path)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, $"http://{server}{path}");
        foreach (var (name, value) in new[]
        {
            ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
            ("Accept", "text/html,*/*;q=0.8"),
            ("Accept-Language", "en-US,en;q=0.5"), ("Accept-Encoding", "gzip, deflate"),
            ("Cookie", "session=0123456789abcdef"),
            ("Referer", "http://localhost/"), ("Cache-Control", "no-cache"), ("X-Requested-With", "XMLHttpRequest"),
        })
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        using var answer = s_http.Send(request);
        using var reader = new StreamReader(answer.Content.ReadAsStream());
        return reader.ReadToEnd();
    }

    /// <summary>
    /// Reads the page of figures: waiting requests, served requests, managed bytes, µs of garbage collection.
    /// </summary>
    public static double[] ReadFigures(ServerProcess server, bool isFastCgi, bool collect)
    {
        var path = $"/figures?collect={(collect ? "true" : "false")}";
        var text = isFastCgi ? FastCgiGet.Read(server.EndPoint, path) : Get(server.EndPoint, path);
        return [.. text.Split(' ').Select(static figure => double.Parse(figure, CultureInfo.InvariantCulture))];
    }

    public string Picture(
        string name, string title, string unit, IEnumerable<(string Name, double Value, BarPicture.Kind Kind)> bars) =>
        BarPicture.Write(Path.Combine(settings.Images, name + ".svg"), title, unit, bars);

    public static void Log(string line) => Console.Error.WriteLine(line);

    private static bool IsListed(EndPoint at)
    {
        var port = string.Create(CultureInfo.InvariantCulture, $":{((IPEndPoint)at).Port:X4} 00000000:0000 0A");
        if (!File.ReadLines("/proc/net/tcp").Any(line => line.Contains(port, StringComparison.Ordinal)))
            return false;

        Thread.Sleep(500);
        return true;
    }

    private static string FastCgiUrl(EndPoint at) => Setup.FastCgi(at)[^1];

    private ServerProcess StartSite(EndPoint at, string[] options) => setup.Start(at, "dotnet", [Assembly, .. options]);
}
