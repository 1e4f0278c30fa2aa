using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.UnitTests.Cgi;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>The headers of a request as the application gets them, made of params.</summary>
internal static class RequestHeadersBuilder
{
    public static RequestHeaders Build(byte[] bytes, CgiMapping? mapping = null, RequestLock? requestLock = null)
    {
        mapping ??= new CgiMapping();
        var parameters = Read(bytes, mapping);
        Assert.Equal(RequestRejection.None, CgiRequestMapper.Map(bytes, mapping, out var head));
        if (mapping.RequestHeaderEncodingSelector is not null)
            Assert.Equal(RequestRejection.None, parameters.DecodeByApplication());
        return new RequestHeaders(requestLock ?? new RequestLock(), parameters, mapping, in head);
    }

    public static RequestParameters Read(byte[] bytes, CgiMapping? mapping = null)
    {
        var parameters = new RequestParameters(mapping ?? new CgiMapping());
        parameters.Append(bytes, isWhole: true);
        return parameters;
    }

    public static RequestHeaders Build(params ReadOnlySpan<(string Name, string Value)> variables) => Build(CgiParameters.Get(variables).Bytes);
}
