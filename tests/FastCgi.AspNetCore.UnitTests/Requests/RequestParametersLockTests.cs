using System.Diagnostics.Tracing;
using System.Runtime.ExceptionServices;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.UnitTests.Cgi;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>
/// The lock of the params is not re-entrant. So no code of the application's may run with it held: not the filter of an exception, not a
/// handler of first-chance exceptions, not a listener to events.
/// </summary>
public sealed class RequestParametersLockTests
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(10);

    private readonly CgiMapping _mapping = new();
    private readonly RequestParameters _parameters = new();

    public static TheoryData<string> Lookups => [.. LookupsByName.Keys];

    private static Dictionary<string, Action<RequestParameters, CgiMapping>> LookupsByName { get; } = new()
    {
        ["variable"] = static (parameters, mapping) => parameters.GetVariable("A", mapping),
        ["variables"] = static (parameters, mapping) => parameters.GetVariables(mapping),
        ["target"] = static (parameters, mapping) => parameters.GetRawTarget(mapping),
        ["header"] = static (parameters, mapping) => parameters.GetHeader("A", mapping),
        ["host"] = static (parameters, mapping) => parameters.GetHost(mapping),
        ["authorization"] = static (parameters, mapping) => parameters.GetRenamedAuthorization(mapping),
        ["headers"] = static (parameters, mapping) => parameters.ReadHeaders(mapping, 0, static (_, _, _) => { }),
    };

    [Theory]
    [MemberData(nameof(Lookups))]
    public Task Lookup_RequestIsOver_FilterOfTheExceptionCanLookUp(string name) => RunAsync(() =>
    {
        var isFiltered = false;
        try
        {
            LookupsByName[name](_parameters, _mapping);
        }
        catch (ObjectDisposedException) when (ThrowsAgain(name))
        {
            isFiltered = true;
        }

        Assert.True(isFiltered);
    });

    [Theory]
    [MemberData(nameof(Lookups))]
    public Task Lookup_RequestIsOver_HandlerOfFirstChanceExceptionsCanLookUp(string name) => RunAsync(() =>
    {
        var thread = Environment.CurrentManagedThreadId;
        var depth = 0;
        EventHandler<FirstChanceExceptionEventArgs> handler = (_, _) =>
        {
            if (Environment.CurrentManagedThreadId == thread && depth++ == 0)
                ThrowsAgain(name);
        };
        AppDomain.CurrentDomain.FirstChanceException += handler;
        try
        {
            Assert.Throws<ObjectDisposedException>(() => LookupsByName[name](_parameters, _mapping));
        }
        finally
        {
            AppDomain.CurrentDomain.FirstChanceException -= handler;
        }

        Assert.True(depth > 1);
    });

    [Fact]
    public Task GetRawTarget_MadeUp_ListenerCanLookUp() => RunAsync(() =>
    {
        Append(("SCRIPT_NAME", "/" + new string('\u00e9', 1_000)), ("QUERY_STRING", "q"));
        using var listener = new PoolListener(() => _parameters.GetVariable("SCRIPT_NAME", _mapping));

        Assert.EndsWith("%C3%A9?q", _parameters.GetRawTarget(_mapping), StringComparison.Ordinal);
        Assert.True(listener.WasCalled);
    });

    [Fact]
    public Task GetHeader_CookiesThatAreJoined_ListenerCanLookUp() => RunAsync(() =>
    {
        Append(("HTTP_COOKIE", "a=1"), ("HTTP_COOKIE", "b=2"), ("HTTP_COOKIE", new string('c', 5_000)));
        using var listener = new PoolListener(() => _parameters.GetVariable("HTTP_COOKIE", _mapping));

        Assert.Equal("a=1; b=2; " + new string('c', 5_000), _parameters.GetHeader("Cookie", _mapping));
    });

    /// <summary>On a thread of its own, because it would wait for ever.</summary>
    private Task RunAsync(Action test) => Task.Factory.StartNew(
        () =>
        {
            test();
            _parameters.End();
        },
        CancellationToken.None,
        TaskCreationOptions.LongRunning,
        TaskScheduler.Default).WaitAsync(s_deadline);

    private bool ThrowsAgain(string name)
    {
        Assert.Throws<ObjectDisposedException>(() => LookupsByName[name](_parameters, _mapping));
        return true;
    }

    private void Append(params ReadOnlySpan<(string Name, string Value)> variables)
    {
        _parameters.Append(CgiParameters.Get(variables).Bytes, isWhole: true);
        _parameters.Open();
    }

    /// <summary>Calls back at each event of the pools of arrays on the thread that made it.</summary>
    private sealed class PoolListener(Action act) : EventListener
    {
        private readonly int _thread = Environment.CurrentManagedThreadId;

        public bool WasCalled { get; private set; }

        protected override void OnEventSourceCreated(EventSource eventSource)
        {
            if (eventSource.Name == "System.Buffers.ArrayPoolEventSource")
                EnableEvents(eventSource, EventLevel.Verbose);
        }

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            if (Environment.CurrentManagedThreadId == _thread)
            {
                WasCalled = true;
                act();
            }
        }
    }
}
