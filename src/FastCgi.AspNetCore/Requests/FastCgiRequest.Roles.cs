using System.Globalization;

namespace FastCgi.AspNetCore.Requests;

/// <content>What is different about requests in the other roles than Responder.</content>
internal abstract partial class FastCgiRequest : IFastCgiFilterFeature
{
    /// <inheritdoc/>
    public override bool CanAnswerOk
        => Role != FastCgiRole.Authorizer || _endpoint?.Metadata.GetMetadata<FastCgiRoleAttribute>()?.Role == FastCgiRole.Authorizer;

    Stream IFastCgiFilterFeature.Data => Input.Data ?? throw new ObjectDisposedException(nameof(IFastCgiFilterFeature));

    long? IFastCgiFilterFeature.DataLength => GetNumber("FCGI_DATA_LENGTH");

    DateTimeOffset? IFastCgiFilterFeature.DataLastModified
        => GetNumber("FCGI_DATA_LAST_MOD") is { } seconds && seconds <= DateTimeOffset.MaxValue.ToUnixTimeSeconds()
            ? DateTimeOffset.FromUnixTimeSeconds(seconds)
            : null;

    private void BeginInput()
    {
        // The body goes to whoever answers the request; an authorizer gets none, whatever its params say.
        if (Role == FastCgiRole.Authorizer)
            _head.ContentLength = null;

        Input.Begin(_head.ContentLength, Server.Options.Limits.MaxRequestBodySize);
        if (Role == FastCgiRole.Filter)
            Input.BeginData(GetNumber("FCGI_DATA_LENGTH"));
    }

    private long? GetNumber(string name)
        => long.TryParse(GetVariable(name), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;
}
