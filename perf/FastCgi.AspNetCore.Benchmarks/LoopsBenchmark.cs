using BenchmarkDotNet.Attributes;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Streams;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.Benchmarks;

/// <summary>
/// Loops that answer at the same time, each on its own thread and with its own connection. If two take longer than one,
/// the difference is the cost of what they share. It needs one idle processor for each loop.
/// </summary>
[InvocationCount(16)]
public class LoopsBenchmark
{
    private const int Requests = 50_000;

    private static readonly byte[] s_get = RecordBytes.Get(uri: "/plaintext?a=b");
    private Server[] _servers = [];

    /// <summary>The number of loops.</summary>
    [Params(1, 2)]
    public int Loops { get; set; }

    /// <summary>
    /// Whether they belong to one server. Otherwise, they share only the machine; this is the baseline.
    /// </summary>
    [Params(false, true)]
    public bool OneServer { get; set; }

    /// <summary>Creates the servers.</summary>
    [GlobalSetup]
    public void Setup()
    {
        var server = new Server();
        _servers = [.. Enumerable.Range(0, Loops).Select(_ => OneServer ? server : new Server())];
    }

    /// <summary>GETs, the same number on each loop.</summary>
    [Benchmark(OperationsPerInvoke = Requests)]
    public void Get()
    {
        var threads = new Thread[Loops];
        for (var i = 0; i < threads.Length; i++)
        {
            var (server, loop) = (_servers[i], i);
            threads[i] = new Thread(() => server.Answer(loop));
            threads[i].Start();
        }

        foreach (var thread in threads)
            thread.Join();
    }

    private sealed class Server
    {
        private readonly ServerContext _context;
        private readonly RequestScheduler _scheduler;

        private static FastCgiServerOptions CreateOptions()
        {
            var options = new FastCgiServerOptions();
            options.Transport.LoopCount = 2;
            options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.Inline;
            return options;
        }

        public Server()
        {
            var options = CreateOptions();
            _scheduler = new RequestScheduler(
                options.Transport,
                LinuxThreadPlatform.Create(NullLogger.Instance),
                TimeProvider.System,
                NullLogger.Instance);
            _context = ServerContext.Create(
                options,
                new BenchmarkApplication(),
                NullLogger.Instance,
                TimeProvider.System,
                _scheduler.Watchdog.TrySetDeadline);
            _scheduler.Workers.EndFirst();
        }

        public void Answer(int number)
        {
            var queue = new RunQueue(static _ => BatchResult.Ended);
            var worker = new Worker(_scheduler.Workers, _scheduler) { Permit = Permit.Loop, Loop = queue };
            var connection = new FastCgiConnection(new ConnectionManager(_context), new BenchmarkTransport());
            for (var i = 0; i < Requests; i++)
            {
                var ready = new ReadyRequests();
                connection.OnReceived(s_get, ref ready);
                queue.Begin(ref ready, connection.Output);
                _scheduler.RunBatch(worker, queue);
            }
        }
    }
}
