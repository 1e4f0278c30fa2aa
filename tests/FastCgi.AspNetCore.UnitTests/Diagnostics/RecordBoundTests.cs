using System.Text;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>The log of records shows each request its own params, no part of a secret, and is bounded.</summary>
public sealed class RecordBoundTests
{
    private readonly List<string> _lines = [];
    private readonly RecordDescriber _describer;

    public RecordBoundTests() => _describer = new RecordDescriber("id", "received", _lines.Add);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Params_OfAnAbortedRequest_AreNotThoseOfTheNext(bool isAborted)
    {
        Take(RecordBytes.Begin(1), RecordBytes.Record(RecordBytes.Params, 1, RecordBytes.Pairs(("FIRST", "1"))));
        if (isAborted)
            Take(RecordBytes.Abort(1));

        Take(RecordBytes.Begin(1), RecordBytes.ParamsStream(1, ("SECOND", "2")));

        Assert.EndsWith("the end: SECOND=2", _lines[^1], StringComparison.Ordinal);
    }

    /// <summary>In the middle of a stream, nothing tells the value of a cookie from a name.</summary>
    [Fact]
    public void Params_WhoseBeginningWasNotKept_AreNotDescribed()
    {
        for (var id = 1; id <= 101; id++)
            Take(RecordBytes.Begin(id));
        var secret = RecordBytes.Pairs(("HTTP_COOKIE", "\u0006\u0001hunter2"));
        Take(RecordBytes.Record(RecordBytes.Params, 101, secret.AsSpan(0, 2 + "HTTP_COOKIE".Length)));
        Take(RecordBytes.Record(RecordBytes.Params, 1));
        Take(RecordBytes.Record(RecordBytes.Params, 101, secret.AsSpan(2 + "HTTP_COOKIE".Length)), RecordBytes.Record(RecordBytes.Params, 101));

        Assert.DoesNotContain(_lines, static line => line.Contains("hunte", StringComparison.Ordinal));
        Assert.EndsWith("the end: not described", _lines[^1], StringComparison.Ordinal);
    }

    [Fact]
    public void Params_VeryManyAndLong_MakeALineThatIsBounded()
    {
        Take(RecordBytes.Begin(1), RecordBytes.Record(RecordBytes.Params, 1, RecordBytes.Pairs((new string('n', 60_000), "v"))));
        Take(RecordBytes.Record(RecordBytes.Params, 1, Encoding.ASCII.GetBytes(new string('\0', 60_000))), RecordBytes.Record(RecordBytes.Params, 1));

        Assert.InRange(_lines[^1].Length, 1_000, 40_000);
        Assert.EndsWith("possibly more", _lines[^1], StringComparison.Ordinal);
    }

    [Fact]
    public void Log_OfAProviderThatBlocks_HoldsNoMoreThanItsBoundAndTellsWhatIsLost()
    {
        using var provider = new BlockingProvider();
        using var loggers = LoggerFactory.Create(builder => builder.AddProvider(provider).SetMinimumLevel(LogLevel.Trace));
        var log = RecordLog.Create(loggers)!;
        var before = GC.GetTotalMemory(forceFullCollection: true);

        for (var i = 0; i < 10_000; i++)
            log.Write(new string('x', 30_000));

        // Of 600 MB. Other tests take and free some at the same time.
        Assert.True(GC.GetTotalMemory(forceFullCollection: true) - before < 200_000_000);
        provider.Go.Set();
        log.Complete();
        Assert.True(SpinWait.SpinUntil(() => provider.Lines.Any(static line => line.Contains("lost", StringComparison.OrdinalIgnoreCase) || line.Contains("faster", StringComparison.Ordinal)), Waiting.Patience));
    }

    [Theory]
    [InlineData("plain", 10, "plain")]
    [InlineData("a\r\nb\u0000\u2028\u202Ec", 10, "a  b   c")]
    [InlineData("0123456789", 10, "0123456789")]
    [InlineData("0123456789a", 10, "0123456789…")]
    [InlineData("012345678\U0001F600", 10, "012345678…")]
    [InlineData("", 0, "")]
    public void Clean_IsOneBoundedLine(string text, int maxLength, string expected) => Assert.Equal(expected, LogText.Clean(text, maxLength));

    private void Take(params byte[][] records)
    {
        foreach (var record in records)
            _describer.Take(record);
    }

    private sealed class BlockingProvider : ILoggerProvider, ILogger
    {
        public ManualResetEventSlim Go { get; } = new();

        public System.Collections.Concurrent.ConcurrentQueue<string> Lines { get; } = new();

        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
            => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            Go.Wait(Waiting.Patience);
            Lines.Enqueue(formatter(state, exception));
        }

        public void Dispose() => Go.Dispose();
    }
}
