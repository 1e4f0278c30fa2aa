<%@ WebHandler Language="C#" Class="Hello" %>

/// <summary>The page of 13 bytes, for Mono's FastCGI server.</summary>
public class Hello : System.Web.IHttpHandler
{
    public bool IsReusable { get { return true; } }

    public void ProcessRequest(System.Web.HttpContext context)
    {
        context.Response.ContentType = "text/plain";
        context.Response.Write("Hello, world!");
    }
}
