using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>The request body, which middleware may replace. <see cref="RequestInput"/> reads it.</content>
internal abstract partial class FastCgiRequest :
    IHttpRequestBodyDetectionFeature,
    IRequestBodyPipeFeature,
    IHttpMinRequestBodyDataRateFeature
{
    /// <summary>Whether the application has started to read the body. Fits into the padding of other fields.</summary>
    public bool HasStartedReading { get; set; }

    public RequestInput Input { get; private set; } = null!;

    // Before the end of STDIN, the header announces a streamed body, except for HTTP/2.
    bool IHttpRequestBodyDetectionFeature.CanHaveBody => SendsBody
        ?? (!string.IsNullOrEmpty(Parameters.GetHeader(Known.TransferEncoding)) || IsMethodWithBody(_head.Method));

    PipeReader IRequestBodyPipeFeature.Reader
    {
        get
        {
            if (_lazy?.Body is not { } body)
                return Input;

            if (_lazy.BodyReader is not { } replaced || replaced.Body != body)
            {
                _lazy.BodyReader = replaced = new ReplacedReader(body, PipeReader.Create(body));
                Response.OnCompleted(
                    static async reader => await ((PipeReader)reader).CompleteAsync(), replaced.Reader);
            }

            return replaced.Reader;
        }
    }

    Stream IHttpRequestFeature.Body
    {
        get => _lazy?.Body ?? Input.Stream;
        set => Lazy.Body = ReferenceEquals(value, Input.Stream) ? null : value;
    }

    public MinDataRate? MinDataRate
    {
        get => _lazy?.MinBodyDataRate is { } set ? set.Value : Server.Options.Limits.MinRequestBodyDataRate;
        set => Lazy.MinBodyDataRate = new(value);
    }

    private static bool IsMethodWithBody(string method)
        => !HttpMethods.IsGet(method) && !HttpMethods.IsHead(method) && !HttpMethods.IsDelete(method)
            && !HttpMethods.IsOptions(method)
            && !HttpMethods.IsTrace(method) && !HttpMethods.IsConnect(method);
}
