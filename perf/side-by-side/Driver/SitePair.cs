using System.Net;

namespace SideBySide.Driver;

/// <summary>The same site on both servers, each behind its own nginx. They start at the first measurement.</summary>
internal sealed class SitePair
{
    public const string Own = "FastCgi.AspNetCore, fastcgi_pass";
    public const string Kestrel = "Kestrel, proxy_pass";

    private readonly Setup _setup;
    private readonly Lazy<Behind> _own;
    private readonly Lazy<Behind> _kestrel;

    /// <summary>Starts the site by its server's own way.</summary>
    public SitePair(Setup setup, Func<EndPoint, bool, ServerProcess> start, Func<EndPoint> newEndPoint)
    {
        _setup = setup;
        _own = new(() => Start(isFastCgi: true));
        _kestrel = new(() => Start(isFastCgi: false));

        Behind Start(bool isFastCgi)
        {
            var server = start(newEndPoint(), isFastCgi);
            return new Behind(server, setup.StartNginx(server, isFastCgi));
        }
    }

    /// <summary>Compares a page of both.</summary>
    public Comparison Compare(string title, string path, int connections, int bodySize = 0, int headers = 0, string bodyKind = "", bool usesAb = false, params Target[] targets)
    {
        HttpLoad LoadOf(Behind behind) => new(behind.Nginx.EndPoint, path)
        {
            BodySize = bodySize,
            BodyKind = bodyKind,
            Headers = headers,
            UsesAb = usesAb,
        };
        return new Comparison(title,
            new Contender(Kestrel, () => Run(_kestrel.Value, LoadOf(_kestrel.Value), connections)),
            new Contender(Own, () => Run(_own.Value, LoadOf(_own.Value), connections)))
        { Targets = targets };
    }

    /// <summary>Compares a page of both at half of the rate that Kestrel reaches.</summary>
    public Comparison CompareAtHalfLoad(
        string title, string path, int connections, double seconds, params Target[] targets)
    {
        HttpLoad LoadOf(Behind behind, int rate) => new(behind.Nginx.EndPoint, path) { Rate = rate };
        var rate = new Lazy<int>(
            () => (int)(Run(_kestrel.Value, LoadOf(_kestrel.Value, rate: 0), connections).Rate / 2));
        return new Comparison(
            title,
            new Contender(Kestrel, () => Run(_kestrel.Value, LoadOf(_kestrel.Value, rate.Value), connections, seconds)),
            new Contender(Own, () => Run(_own.Value, LoadOf(_own.Value, rate.Value), connections, seconds)))
        { Targets = targets, MostRounds = 1 };
    }

    /// <summary>Compares the transfer of a large body.</summary>
    public Comparison CompareTransfer(string title, bool isUpload) => new(title,
        new Contender(Kestrel, () => LargeTransfer.Run(_setup, _kestrel.Value.Server, _kestrel.Value.Nginx, isUpload)),
        new Contender(Own, () => LargeTransfer.Run(_setup, _own.Value.Server, _own.Value.Nginx, isUpload)));

    /// <summary>The target for the server's own CPU time, relative to Kestrel's.</summary>
    public static Target Backend(string figure, Bound bound)
        => new(figure, Own, Kestrel, static sample => sample.ServerCpu, bound);

    /// <summary>The target for the CPU time of nginx and the server, relative to that with Kestrel.</summary>
    public static Target WithNginx(string figure, Bound bound)
        => new(figure, Own, Kestrel, static sample => sample.TotalCpu, bound);

    /// <summary>The target for a slow response, relative to Kestrel's.</summary>
    public static Target Slow(string figure, Func<Sample, double> quantity, Bound bound)
        => new(figure, Own, Kestrel, quantity, bound);

    private Sample Run(Behind behind, HttpLoad load, int connections, double? seconds = null)
    {
        behind.Check(load);
        return _setup.Load.RunHttp(behind.Server, behind.Nginx, load, connections, seconds);
    }

    private sealed record Behind(ServerProcess Server, ServerProcess Nginx)
    {
        private readonly HashSet<string> _checked = [];

        /// <summary>Checks once that the page works: wrk accepts a redirect as a response.</summary>
        public void Check(HttpLoad load)
        {
            var path = load.Path;
            if (load.BodySize > 0 || !_checked.Add(path))
                return;

            using var client = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false, UseProxy = false });
            using var answer = client.GetAsync(new Uri($"http://{Nginx.EndPoint}{path}")).GetAwaiter().GetResult();
            if (answer.StatusCode != HttpStatusCode.OK)
                throw new InvalidOperationException($"{path} is answered with {answer.StatusCode}.");
        }
    }
}
