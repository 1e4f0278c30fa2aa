using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What only FastCGI has: the role, the parameters as they came, and the way to the web server's error log.</content>
internal abstract partial class FastCgiRequest : IFastCgiRequestFeature
{
    private List<KeyValuePair<string, string>>? _parameterList;
    private StandardErrorWriter? _standardError;
    private bool _isStandardErrorOver = true;

    IReadOnlyList<KeyValuePair<string, string>> IFastCgiRequestFeature.Parameters
        => _parameterList ??= Parameters.GetVariables(Server.Mapping);

    TextWriter IFastCgiRequestFeature.StandardError
    {
        get
        {
            lock (Response.Output)
            {
                ObjectDisposedException.ThrowIf(_isStandardErrorOver, typeof(HttpContext));
                return _standardError ??= Response.Output.OpenErrorWriter(Server.Options.Limits.MaxStandardErrorSize);
            }
        }
    }

    private void BeginFastCgi() => _isStandardErrorOver = false;

    /// <summary>The response is about to end: a line that is not complete goes with it.</summary>
    private void FlushStandardError() => _standardError?.Flush();

    /// <summary>Before the response is closed, for what is written goes to it.</summary>
    private void EndFastCgi()
    {
        lock (Response.Output)
        {
            _isStandardErrorOver = true;
            _standardError?.End();
            _standardError = null;
        }

        _parameterList = null;
    }
}
