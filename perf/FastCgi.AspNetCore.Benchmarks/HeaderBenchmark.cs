using BenchmarkDotNet.Attributes;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;

namespace FastCgi.AspNetCore.Benchmarks;

/// <summary>
/// A request with the params of nginx and 20 headers, from which the application asks some: every third is there, the others are
/// not, as with middleware that looks for what few clients send.
/// </summary>
[MemoryDiagnoser]
public class HeaderBenchmark
{
    private readonly CgiMapping _mapping = new();
    private byte[] _params = [];
    private string[] _names = [];

    /// <summary>How many headers are asked for.</summary>
    [Params(0, 1, 20, 60)]
    public int Asked { get; set; }

    /// <summary>Makes the params and the names.</summary>
    [GlobalSetup]
    public void Setup()
    {
        string[] there = [.. Enumerable.Range(0, 18).Select(static i => $"X-Header-Number-{i}")];
        _params = RecordBytes.Pairs(RecordBytes.RequestParams(
            "GET", "/", [.. there.Select(static name => ("HTTP_" + name.ToUpperInvariant().Replace('-', '_'), "a value of it"))]));
        _names = [.. Enumerable.Range(0, 60).Select(i => i % 3 == 0 ? there[i / 3 % there.Length] : $"X-Not-There-{i}")];
    }

    /// <summary>A request: its params come, headers are asked for, and it ends.</summary>
    [Benchmark]
    public int Ask()
    {
        var parameters = new RequestParameters(_mapping);
        parameters.Append(_params, isWhole: true);
        parameters.Complete();
        var headers = new RequestHeaders(new RequestLock(), parameters, _mapping, default);
        var length = 0;
        for (var i = 0; i < Asked; i++)
            length += headers[_names[i]].Count;
        return length;
    }
}
