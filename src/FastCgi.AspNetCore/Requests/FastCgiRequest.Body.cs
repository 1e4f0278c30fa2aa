using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Microsoft.Net.Http.Headers;

namespace FastCgi.AspNetCore.Requests;

/// <content>The request body as its features show it; <see cref="RequestInput"/> is where it is read. Middleware may replace it.</content>
internal abstract partial class FastCgiRequest :
    IHttpRequestBodyDetectionFeature,
    IRequestBodyPipeFeature,
    IHttpBodyControlFeature,
    IHttpMaxRequestBodySizeFeature,
    IHttpMinRequestBodyDataRateFeature
{
    /// <summary>What comes behind the params; from when all of them have come.</summary>
    public RequestInput Input { get; private set; } = null!;

    /// <summary>The application has completed the response, and may go on: no more of the body comes.</summary>
    public void EndInput()
    {
        using var scope = Connection.EnterLock();
        Input.End(scope);
    }

    // While the end of STDIN is still to come: front-ends that stream tell of a body by the header, HTTP/2 clients not at all.
    bool IHttpRequestBodyDetectionFeature.CanHaveBody => Input.HasBody
        ?? (!string.IsNullOrEmpty(Parameters.GetHeader(HeaderNames.TransferEncoding)) || IsMethodWithBody(_head.Method));

    PipeReader IRequestBodyPipeFeature.Reader
    {
        get
        {
            while (_lazy?.Body is { } body)
            {
                var before = Volatile.Read(ref _lazy.BodyReader);
                if (before?.Body == body)
                    return before.Reader;

                var made = new ReplacedReader(body, PipeReader.Create(body));
                if (Interlocked.CompareExchange(ref _lazy.BodyReader, made, before) == before)
                    Response.OnCompleted(static async reader => await ((PipeReader)reader).CompleteAsync(), made.Reader);
            }

            return Input.Reader;
        }
    }

    Stream IHttpRequestFeature.Body
    {
        get => _lazy?.Body ?? Input.Stream;
        set => Lazy.Body = ReferenceEquals(value, Input.Stream) ? null : value;
    }

    bool IHttpBodyControlFeature.AllowSynchronousIO
    {
        get => Response.AllowSynchronousIO;
        set => Response.AllowSynchronousIO = value;
    }

    bool IHttpMaxRequestBodySizeFeature.IsReadOnly => Input.HasStartedReading;

    long? IHttpMaxRequestBodySizeFeature.MaxRequestBodySize
    {
        get => Input.MaxBodySize;
        set => Input.MaxBodySize = value;
    }

    MinDataRate? IHttpMinRequestBodyDataRateFeature.MinDataRate
    {
        get => MinBodyDataRate;
        set => Lazy.MinBodyDataRate = new(value);
    }

    /// <summary>How fast the body must come, if it must.</summary>
    public MinDataRate? MinBodyDataRate => _lazy?.MinBodyDataRate is { } set ? set.Value : Server.Options.Limits.MinRequestBodyDataRate;

    public TimeProvider Clock => Server.Time;

    private static bool IsMethodWithBody(string method)
        => !HttpMethods.IsGet(method) && !HttpMethods.IsHead(method) && !HttpMethods.IsDelete(method) && !HttpMethods.IsOptions(method)
            && !HttpMethods.IsTrace(method) && !HttpMethods.IsConnect(method);
}
