<%@ WebHandler Language="C#" Class="Json" %>

/// <summary>The JSON service, for Mono's FastCGI server.</summary>
public class Json : System.Web.IHttpHandler
{
    public bool IsReusable { get { return true; } }

    public void ProcessRequest(System.Web.HttpContext context)
    {
        context.Response.ContentType = "application/json";
        context.Response.Write("{\"message\":\"Hello, world!\"}");
    }
}
