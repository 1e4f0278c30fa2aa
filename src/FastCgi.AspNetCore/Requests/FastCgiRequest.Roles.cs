using System.Globalization;

namespace FastCgi.AspNetCore.Requests;

/// <content>What is different about requests in the other roles than Responder.</content>
internal abstract partial class FastCgiRequest : IFastCgiFilterFeature
{
    /// <summary>Whether the endpoint is one that may allow an authorizer's request.</summary>
    public bool IsAuthorizerEndpoint => _endpoint?.Metadata.GetMetadata<FastCgiRoleAttribute>()?.Role == FastCgiRole.Authorizer;

    Stream IFastCgiFilterFeature.Data => _lazy?.Data ?? Keep(ref Lazy.Data, new FilterData(Input));

    long? IFastCgiFilterFeature.DataLength => GetNumber("FCGI_DATA_LENGTH");

    DateTimeOffset? IFastCgiFilterFeature.DataLastModified
        => GetNumber("FCGI_DATA_LAST_MOD") is { } seconds && seconds <= DateTimeOffset.MaxValue.ToUnixTimeSeconds()
            ? DateTimeOffset.FromUnixTimeSeconds(seconds)
            : null;

    private RequestInput CreateInput()
    {
        // The body goes to whoever answers the request; an authorizer gets none, whatever its params say.
        if (Role == FastCgiRole.Authorizer)
            _head.ContentLength = null;

        var dataLength = Role == FastCgiRole.Filter ? GetNumber("FCGI_DATA_LENGTH") : null;
        return new RequestInput(this, _head.ContentLength, Server.Options.Limits.MaxRequestBodySize, dataLength);
    }

    private long? GetNumber(string name)
        => long.TryParse(Parameters.GetVariable(name), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;
}
