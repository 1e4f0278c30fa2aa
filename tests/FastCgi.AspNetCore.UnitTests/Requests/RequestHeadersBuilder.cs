namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>The headers of a request as the application gets them, made of params.</summary>
internal static class RequestHeadersBuilder
{
    public static RequestHeaders Build(byte[] bytes)
    {
        var request = ResponseRig.CreateRequest(bytes, new FastCgiServerOptions());
        Assert.Equal(RequestRejection.None, request.Rejection);
        return (RequestHeaders)request.Headers;
    }

    public static RequestHeaders Build(params ReadOnlySpan<(string Name, string Value)> variables)
        => Build(CgiParameters.Get(variables).Bytes);
}
