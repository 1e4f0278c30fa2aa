using System.Net;
using System.Text;

namespace History.Site;

/// <summary>The page of 13 bytes on System.Net.HttpListener.</summary>
internal static class ListenerServer
{
    public static async Task RunAsync(string url)
    {
        var hello = Encoding.ASCII.GetBytes(Pages.Hello);
        using var listener = new HttpListener { IgnoreWriteExceptions = true };
        listener.Prefixes.Add(url + "/");
        listener.Start();
        while (true)
            _ = AnswerAsync(await listener.GetContextAsync(), hello);
    }

    private static async Task AnswerAsync(HttpListenerContext context, byte[] hello)
    {
        context.Response.ContentType = "text/plain";
        context.Response.ContentLength64 = hello.Length;
        await context.Response.OutputStream.WriteAsync(hello);
        context.Response.Close();
    }
}
