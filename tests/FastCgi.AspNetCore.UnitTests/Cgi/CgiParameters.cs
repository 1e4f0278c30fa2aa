namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>Params of a request as a front-end sends them, each character of a text one byte.</summary>
internal sealed class CgiParameters
{
    private readonly List<byte> _bytes = [];

    public static CgiParameters Get(params ReadOnlySpan<(string Name, string Value)> variables)
    {
        var parameters = new CgiParameters().Add("REQUEST_METHOD", "GET");
        foreach (var (name, value) in variables)
            parameters.Add(name, value);
        return parameters;
    }

    /// <summary>Params with a method, and variables that are separated by bars.</summary>
    public static CgiParameters Parse(string variables)
    {
        var parameters = Get();
        foreach (var variable in variables.Split('|', StringSplitOptions.RemoveEmptyEntries))
            parameters.Add(variable.Split('=')[0], variable[(variable.IndexOf('=') + 1)..]);
        return parameters;
    }

    public byte[] Bytes => [.. _bytes];

    public CgiParameters Add(string name, string value)
    {
        _bytes.AddRange(RecordBytes.Pair(name, value));
        return this;
    }

    /// <summary>Maps the params, which must not be rejected.</summary>
    public RequestHead Map(CgiMapping? mapping = null)
    {
        var rejection = CgiRequestMapper.Map(Bytes, mapping ?? new CgiMapping(new()), out var head);
        Assert.Equal(RequestRejection.None, rejection);
        return head;
    }

    public RequestRejection Reject(
        CgiMapping? mapping = null) => CgiRequestMapper.Map(Bytes, mapping ?? new CgiMapping(new()), out _);

    public string GetRawTarget(CgiMapping? mapping = null)
        => CgiRequestMapper.GetRawTarget(Bytes, mapping ?? new CgiMapping(new()));
}
