using System.Globalization;

namespace FastCgi.AspNetCore.Requests;

/// <content>What is different about requests in the other roles than Responder.</content>
internal abstract partial class FastCgiRequest : IFastCgiFilterFeature
{
    private FilterData? _data;

    /// <inheritdoc/>
    public override bool CanAnswerOk
        => Role != FastCgiRole.Authorizer || _endpoint?.Metadata.GetMetadata<FastCgiRoleAttribute>()?.Role == FastCgiRole.Authorizer;

    Stream IFastCgiFilterFeature.Data => _data ?? throw new ObjectDisposedException(nameof(IFastCgiFilterFeature));

    long? IFastCgiFilterFeature.DataLength => GetNumber("FCGI_DATA_LENGTH");

    DateTimeOffset? IFastCgiFilterFeature.DataLastModified
        => GetNumber("FCGI_DATA_LAST_MOD") is { } seconds && seconds <= DateTimeOffset.MaxValue.ToUnixTimeSeconds()
            ? DateTimeOffset.FromUnixTimeSeconds(seconds)
            : null;

    /// <summary>Takes content of DATA. Under the lock of the connection.</summary>
    public void AppendData(ReadOnlySpan<byte> content) => _data?.Append(content);

    /// <summary>DATA has ended. Under the lock of the connection.</summary>
    public void EndData() => _data?.EndInput();

    private void BeginRole()
    {
        // The body goes to whoever answers the request; an authorizer gets none, whatever its params say.
        if (Role == FastCgiRole.Authorizer)
            _head.ContentLength = null;
        if (Role == FastCgiRole.Filter)
            _data = FilterData.Begin(this, Server.Buffers, GetNumber("FCGI_DATA_LENGTH"));
    }

    private void EndRole()
    {
        _data?.End();
        _data = null;
    }

    private long? GetNumber(string name)
        => long.TryParse(Parameters.GetVariable(name, Server.Mapping), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;
}
