using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>The request body as its features show it; <see cref="RequestInput"/> is where it is read. Middleware may replace it.</content>
internal abstract partial class FastCgiRequest :
    IHttpRequestBodyDetectionFeature,
    IRequestBodyPipeFeature,
    IHttpBodyControlFeature,
    IHttpMaxRequestBodySizeFeature,
    IHttpMinRequestBodyDataRateFeature
{
    /// <summary>What comes behind the params.</summary>
    public RequestInput Input { get; }

    // While the end of STDIN is still to come: front-ends that stream tell of a body by the header, HTTP/2 clients not at all.
    bool IHttpRequestBodyDetectionFeature.CanHaveBody => Input.HasBody ?? (_head.HasTransferEncoding || IsMethodWithBody(_head.Method));

    PipeReader IRequestBodyPipeFeature.Reader
    {
        get
        {
            var generation = Generation;
            while (_lazy?.Body is { } replaced)
            {
                if (_lazy.BodyReader is { } reader)
                    return reader;

                // Without the lock, because it asks the stream.
                reader = PipeReader.Create(replaced);
                using (EnterToChange())
                {
                    ObjectDisposedException.ThrowIf(generation != Generation, typeof(HttpContext));
                    if (!ReferenceEquals(_lazy.Body, replaced))
                        continue;
                    if (_lazy.BodyReader is { } earlier)
                        return earlier;

                    Response.OnCompleted(static async reader => await ((PipeReader)reader).CompleteAsync(), reader);
                    return _lazy.BodyReader = reader;
                }
            }

            return Input.Reader;
        }
    }

    Stream IHttpRequestFeature.Body
    {
        get => _lazy?.Body ?? Input.Stream;
        set
        {
            using (EnterToChange())
            {
                Lazy.Body = ReferenceEquals(value, Input.Stream) ? null : value;
                Lazy.BodyReader = null;
            }
        }
    }

    bool IHttpBodyControlFeature.AllowSynchronousIO
    {
        get => Response.AllowSynchronousIO;
        set
        {
            ThrowIfOver();
            Response.AllowSynchronousIO = value;
        }
    }

    bool IHttpMaxRequestBodySizeFeature.IsReadOnly => Input.HasStartedReading;

    long? IHttpMaxRequestBodySizeFeature.MaxRequestBodySize
    {
        get => Input.MaxBodySize;
        set
        {
            ThrowIfOver();
            Input.MaxBodySize = value;
        }
    }

    MinDataRate? IHttpMinRequestBodyDataRateFeature.MinDataRate
    {
        get => MinBodyDataRate;
        set
        {
            ThrowIfOver();
            Lazy.MinBodyDataRate = new(value);
        }
    }

    /// <summary>How fast the body must come, if it must.</summary>
    public MinDataRate? MinBodyDataRate => _lazy?.MinBodyDataRate is { } set ? set.Value : Server.Options.Limits.MinRequestBodyDataRate;

    /// <summary>The clock of the server.</summary>
    public TimeProvider Clock => Server.Time;

    private static bool IsMethodWithBody(string method)
        => !HttpMethods.IsGet(method) && !HttpMethods.IsHead(method) && !HttpMethods.IsDelete(method) && !HttpMethods.IsOptions(method)
            && !HttpMethods.IsTrace(method) && !HttpMethods.IsConnect(method);
}
