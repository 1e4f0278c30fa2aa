namespace FastCgi.AspNetCore;

/// <summary>What may set <c>HttpRequest.PathBase</c> besides the option and the parameter PATH_BASE.</summary>
public enum FastCgiPathBaseSource
{
    /// <summary>Nothing. The default.</summary>
    None,

    /// <summary>
    /// SCRIPT_NAME, if PATH_INFO comes with it. Only for front-ends that are configured to split the path where the application
    /// begins: with the stock configuration of nginx, Apache's <c>ProxyPass</c>, lighttpd or HAProxy it is wrong.
    /// </summary>
    ScriptName,
}
