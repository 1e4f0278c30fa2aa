using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Requests;

/// <content>What only FastCGI has: the role, the parameters as they came, and the way to the web server's error log.</content>
internal abstract partial class FastCgiRequest : IFastCgiRequestFeature
{
    private List<KeyValuePair<string, string>>? _parameterList;
    private StandardError? _standardError;
    private StandardErrorWriter? _standardErrorWriter;
    private bool _isStandardErrorOver;

    IReadOnlyList<KeyValuePair<string, string>> IFastCgiRequestFeature.Parameters
        => _parameterList ??= Parameters.GetVariables(Server.Mapping);

    TextWriter IFastCgiRequestFeature.StandardError
    {
        get
        {
            ThrowIfOver();
            return _standardErrorWriter ?? BeginStandardError();
        }
    }

    /// <summary>END_REQUEST is about to go in the line, and STDERR has to end before it. Under the lock of the connection.</summary>
    public void CloseStandardError()
    {
        _isStandardErrorOver = true;
        _standardError?.Close();
    }

    private StandardErrorWriter BeginStandardError()
    {
        lock (Connection.Output.Lock)
        {
            if (_standardErrorWriter is { } writer)
                return writer;

            _standardError = new StandardError(Connection.Output, Id, Server.Options.Limits.MaxStandardErrorSize);
            if (_isStandardErrorOver)
                _standardError.Close();
            return _standardErrorWriter = _standardError.OpenWriter();
        }
    }

    private void EndFastCgi()
    {
        _standardErrorWriter?.End();
        _standardErrorWriter = null;
        _standardError = null;
        _isStandardErrorOver = false;
        _parameterList = null;
    }
}
