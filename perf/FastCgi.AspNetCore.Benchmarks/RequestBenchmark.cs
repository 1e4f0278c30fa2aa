using System.Text;
using BenchmarkDotNet.Attributes;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Streams;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.Benchmarks;

/// <summary>
/// A whole request through the server without a socket: bytes in, records out. The application is the smallest
/// possible, so that only the server's own time and memory are measured.
/// </summary>
[MemoryDiagnoser]
public class RequestBenchmark
{
    private byte[] _get = [];
    private byte[] _post = [];
    private BenchmarkTransport _transport = null!;
    private FastCgiConnection _connection = null!;
    private RequestScheduler _scheduler = null!;
    private readonly RunQueue _queue = new(static _ => BatchResult.Ended);
    private Worker _worker = null!;

    /// <summary>Opens the connection, and checks the responses before the measurement.</summary>
    [GlobalSetup]
    public void Setup()
    {
        _get = RecordBytes.Get(uri: "/plaintext?a=b");
        _post = RecordBytes.Post(1, "/upload", new byte[1_024]);
        var options = new FastCgiServerOptions();
        // A path that is not known yet would run on another thread.
        options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.Inline;
        _scheduler = new RequestScheduler(
            options.Transport,
            LinuxThreadPlatform.Create(NullLogger.Instance),
            TimeProvider.System,
            NullLogger.Instance);
        var context = ServerContext.Create(
            options,
            new BenchmarkApplication(),
            NullLogger.Instance,
            TimeProvider.System,
            _scheduler.Watchdog.TrySetDeadline);
        // Without its watchdog, which would send the first responses early, while the runtime compiles their code.
        _scheduler.Workers.EndFirst();
        _worker = new Worker(_scheduler.Workers, _scheduler) { Permit = Permit.Loop, Loop = _queue };
        _transport = new BenchmarkTransport { Kept = [] };
        _connection = new FastCgiConnection(new ConnectionManager(context), _transport);

        foreach (var request in new[] { _get, _post })
        {
            _transport.Kept.Clear();
            Push(request);
            var answer = Encoding.ASCII.GetString([.. _transport.Kept]);
            if (!answer.Contains("Content-Length: 13\r\nStatus: 200 OK\r\n\r\nHello, world!", StringComparison.Ordinal))
                throw new InvalidOperationException($"The answer is not right: {answer}");
        }

        _transport.Kept = null;
    }

    /// <summary>A GET as nginx sends it.</summary>
    [Benchmark(Baseline = true)]
    public long Get() => Push(_get);

    /// <summary>A POST of 1 KiB whose body is read.</summary>
    [Benchmark]
    public long Post() => Push(_post);

    /// <summary>Counts the bytes that a request allocates, after the first requests have filled the pools.</summary>
    public static double CountAllocated(bool isPost)
    {
        const int Requests = 100_000;
        var benchmark = new RequestBenchmark();
        benchmark.Setup();
        var before = 0L;
        for (var i = 0; i < 2 * Requests; i++)
        {
            if (i == Requests)
                before = GC.GetTotalAllocatedBytes(precise: true);
            _ = isPost ? benchmark.Post() : benchmark.Get();
        }

        return (double)(GC.GetTotalAllocatedBytes(precise: true) - before) / Requests;
    }

    private long Push(byte[] request)
    {
        var ready = new ReadyRequests();
        _connection.OnReceived(request, ref ready);
        _queue.Begin(ref ready, _connection.Output);
        _scheduler.RunBatch(_worker, _queue);
        return _transport.SentLength;
    }
}
