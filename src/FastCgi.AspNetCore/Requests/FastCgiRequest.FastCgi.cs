namespace FastCgi.AspNetCore.Requests;

/// <content>What only FastCGI has: the role, the parameters as they came, and the way to the web server's error log.</content>
internal abstract partial class FastCgiRequest : IFastCgiRequestFeature
{
    IReadOnlyList<KeyValuePair<string, string>> IFastCgiRequestFeature.Parameters
        => _lazy?.ParameterList ?? Keep(ref Lazy.ParameterList, Parameters.GetVariables());

    TextWriter IFastCgiRequestFeature.StandardError => Response.OpenStandardError();
}
