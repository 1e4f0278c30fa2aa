using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Requests;

/// <summary>Executes requests on the thread pool: what a server without a scheduler does.</summary>
internal sealed class ThreadPoolRunner : RequestRunner
{
    public override void Run(FastCgiRequest request) => ThreadRoot.Queue(request, static request => request.Execute(), request.Log);
}
