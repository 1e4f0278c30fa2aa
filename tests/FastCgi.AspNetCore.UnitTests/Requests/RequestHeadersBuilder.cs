using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.UnitTests.Cgi;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>The headers of a request as the application gets them, made of params. Ends the request when disposed of.</summary>
internal sealed class RequestHeadersBuilder : IDisposable
{
    public RequestHeadersBuilder(byte[] parameters, CgiMapping? mapping = null, ResponseLock? requestLock = null)
    {
        Headers = new RequestHeaders(requestLock ?? new ResponseLock());
        Mapping = mapping ?? new CgiMapping();
        Assert.Equal(RequestRejection.None, CgiRequestMapper.Map(parameters, Mapping, out var head));
        Parameters.Append(parameters, isWhole: true);
        Parameters.Open(head.HostOffset);
        if (Mapping.RequestHeaderEncodingSelector is not null)
            Assert.Equal(RequestRejection.None, Parameters.DecodeByApplication(Mapping));
        Headers.Begin(Parameters, Mapping, in head);
    }

    public RequestHeadersBuilder(params ReadOnlySpan<(string Name, string Value)> variables)
        : this(CgiParameters.Get(variables).Bytes)
    {
    }

    public RequestHeadersBuilder(ResponseLock requestLock, params ReadOnlySpan<(string Name, string Value)> variables)
        : this(CgiParameters.Get(variables).Bytes, requestLock: requestLock)
    {
    }

    public RequestParameters Parameters { get; } = new();

    public RequestHeaders Headers { get; }

    public CgiMapping Mapping { get; }

    public void Dispose() => Parameters.End();
}
