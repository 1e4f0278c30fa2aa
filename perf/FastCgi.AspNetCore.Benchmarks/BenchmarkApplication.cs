using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Benchmarks;

/// <summary>
/// The smallest possible application, so that only the server's own time and memory are measured: it reads the body of
/// a POST of 1,024 bytes, and responds.
/// </summary>
internal sealed class BenchmarkApplication : IHttpApplication<IFeatureCollection>
{
    private static readonly byte[] s_hello = "Hello, world!"u8.ToArray();

    public IFeatureCollection CreateContext(IFeatureCollection contextFeatures) => contextFeatures;

    public Task ProcessRequestAsync(IFeatureCollection context)
    {
        var request = context.Get<IHttpRequestFeature>()!;
        if (HttpMethods.IsPost(request.Method) && !ReadAll(context.Get<IRequestBodyPipeFeature>()!))
            throw new InvalidOperationException("The body is not there.");

        var response = context.Get<IHttpResponseFeature>()!;
        response.Headers.ContentType = "text/plain";
        var write = context.Get<IHttpResponseBodyFeature>()!.Writer.WriteAsync(s_hello);
        return write.IsCompletedSuccessfully ? Task.CompletedTask : write.AsTask();
    }

    public void DisposeContext(IFeatureCollection context, Exception? exception)
    {
        if (exception is not null)
            throw exception;
    }

    private static bool ReadAll(IRequestBodyPipeFeature body)
    {
        if (!body.Reader.TryRead(out var result))
            return false;

        body.Reader.AdvanceTo(result.Buffer.End);
        return result.IsCompleted && result.Buffer.Length == 1_024;
    }
}
