using System.Reflection;
using FastCgi.AspNetCore.Streams;

namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>
/// What changes on a connection, and is not reachable only through its held lock, with the reason. A new field belongs
/// into the guarded state, unless there is one.
/// </summary>
public sealed class UnguardedStateTests
{
    private const string Application = "The application's: as in Kestrel, a race spoils only its own request.";
    private const string BeforePublication = "Set before another thread knows the request.";
    private const string Exchanged = "Published by compare-exchange, or counted by Interlocked.";
    private const string OneThread = "Set by the one thread that executes the request.";
    private const string Volatile = "Written under the lock, and read without it, so by Volatile.";
    private const string ChangedUnderLock =
        "Changed under the lock. Other threads read it without, where an older value costs only a check.";
    private const string UnderLock = "Used under the lock, but only through its owner.";

    private static readonly Dictionary<string, string> s_reasons = new()
    {
        ["FastCgiConnection._id"] = Exchanged,
        ["FastCgiConnection._isReceivePaused"] = Volatile,
        ["FastCgiConnection._peer"] = "Any thread may compute the same text.",
        ["FastCgiConnection._unreturnedCount"] = Exchanged,
        ["FastCgiConnection._uses"] = Exchanged,
        ["FastCgiRequest.<ApplicationError>"] = "Written under the lock, and read without it as one reference.",
        ["FastCgiRequest.<IsPing>"] = BeforePublication,
        ["FastCgiRequest.<Microsoft.AspNetCore.Http.Features.IEndpointFeature.Endpoint>"] = Application,
        ["FastCgiRequest.<Parameters>"] = "Immutable, and replaced only if no thread has claimed the request.",
        ["FastCgiRequest.<Response>"] = BeforePublication,
        ["FastCgiRequest._abortedSource"] = UnderLock,
        ["FastCgiRequest._authentication"] = Application,
        ["FastCgiRequest._head"] = Application,
        ["FastCgiRequest._hasResponded"] = Volatile,
        ["FastCgiRequest._headers"] = Exchanged,
        ["FastCgiRequest._items"] = Application,
        ["FastCgiRequest._lazy"] = Exchanged,
        ["FastCgiRequest._others"] = Exchanged,
        ["FastCgiRequest._query"] = Application,
        ["FastCgiRequest._revision"] = Exchanged,
        ["FastCgiRequest._routeValues"] = Application,
        ["FastCgiRequest._serviceProviders"] = Application,
        ["FastCgiRequest._traceIdentifier"] = Exchanged,
        ["FastCgiRequest`1._context"] = OneThread,
        ["FastCgiResponse.<AllowSynchronousIO>"] = Application,
        ["FastCgiResponse.<HeadLength>"] = ChangedUnderLock,
        ["FastCgiResponse._cork"] = "Corked before another thread knows the response, then used under the lock.",
        ["FastCgiResponse._isBufferingDisabled"] = Application,
        ["FastCgiResponse._isCompletedFired"] = UnderLock,
        ["FastCgiResponse._isOffloaded"] = Volatile,
        ["FastCgiResponse._hasStarted"] = Volatile,
        ["FastCgiResponse._onCompleted"] = ChangedUnderLock,
        ["FastCgiResponse._onStarting"] = ChangedUnderLock,
        ["FastCgiResponse._reasonPhrase"] = Application,
        ["FastCgiResponse._replacedBody"] = Application,
        ["FastCgiResponse._starting"] = Volatile,
        ["FastCgiResponse._statusCode"] = Application,
        ["FastCgiResponse._stream"] = "Any thread may create an equal one.",
        ["RecordOutput._hasWork"] = Volatile,
        ["RecordOutput._isClosed"] = Volatile,
        ["RecordOutput._isSendCut"] = Volatile,
        ["RecordOutput._progressCount"] = Exchanged,
        ["RequestBody.<HasStartedReading>"] = ChangedUnderLock,
        ["RequestBody.<MaxLength>"] = Application,
        ["RequestBody.Stream"] = Exchanged,
        ["RequestBody._consumedLength"] = UnderLock,
        ["RequestBody._error"] = UnderLock,
        ["RequestBody._examinedLength"] = UnderLock,
        ["RequestBody._first"] = UnderLock,
        ["RequestBody._isCanceled"] = UnderLock,
        ["RequestBody._isOver"] = UnderLock,
        ["RequestBody._isReaderOver"] = UnderLock,
        ["RequestBody._last"] = UnderLock,
        ["RequestBody._leasedEnd"] = UnderLock,
        ["RequestBody._mustAdvance"] = UnderLock,
        ["RequestBody._rate"] = UnderLock,
        ["RequestBody._receivedLength"] = Volatile,
        ["RequestBody._resultEnd"] = UnderLock,
        ["RequestBody._wait"] = UnderLock,
        ["RequestStream.<IsInputOver>"] = ChangedUnderLock,
        ["RequestStream.<NextReady>"] = "Used by the owner of the list, in which a request is once.",
        ["RequestStream.<Rejection>"] = "Set before the request is ready, or by the thread that has dequeued it.",
        ["RequestStream.<Slot>"] = "Written under the lock of the admission.",
        ["RequestStream._body"] = Volatile,
        ["RequestStream._declaredLength"] = BeforePublication,
        ["RequestStream._hasReturned"] = Volatile,
        ["RequestStream._isClaimed"] = Exchanged,
        ["RequestStream._phase"] = Volatile,
    };

    private static readonly Type[] s_types =
    [
        typeof(FastCgiConnection), typeof(RecordOutput), typeof(RequestStream), typeof(FastCgiRequest),
        typeof(FastCgiRequest<>), typeof(FastCgiResponse), typeof(RequestBody),
    ];

    [Fact]
    public void Fields_ThatChangeOutsideTheGuardedState_HaveAReason()
    {
        var fields = s_types.SelectMany(static type => type.GetFields(
            BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly));
        var changing = fields.Where(static field => !field.IsInitOnly && !IsParameter(field) && !IsGuarded(field))
            .Select(static field => $"{field.DeclaringType!.Name}.{field.Name.Replace("k__BackingField", "")}");

        Assert.Equal(s_reasons.Keys.Order(StringComparer.Ordinal), changing.Order(StringComparer.Ordinal));
    }

    /// <summary>Parameters of primary constructors, which are never assigned.</summary>
    private static bool IsParameter(FieldInfo field) => field.Name.EndsWith(">P", StringComparison.Ordinal);

    private static bool IsGuarded(FieldInfo field)
        => field.FieldType == typeof(StreamState) || field.FieldType == typeof(ResponseStaging);
}
