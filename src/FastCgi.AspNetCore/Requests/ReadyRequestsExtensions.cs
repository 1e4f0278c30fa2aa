namespace FastCgi.AspNetCore.Requests;

internal static class ReadyRequestsExtensions
{
    /// <summary>Removes the first request. Every stream of a server is a request of its application.</summary>
    public static FastCgiRequest RemoveFirst(this ref ReadyRequests ready) => (FastCgiRequest)ready.RemoveFirstStream();
}
