using System.Globalization;
using System.Net;
using System.Net.Sockets;
using FastCgi.Client;
using FastCgi.Client.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Sends an HTTP request on as FastCGI, and its answer back.</summary>
internal sealed class Forwarder(FastCgiClient client, ProxySettings settings)
{
    // Of the connection to the application, not of the client's (RFC 9110, section 7.6.1).
    private static readonly HashSet<string> s_hopByHop = new(StringComparer.OrdinalIgnoreCase) { "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Trailer", "Proxy-Connection" };

    private readonly (string Name, string Value)[] _parameters = [.. settings.Parameters.Select(static parameter => CommonOptions.Split(parameter, '='))];

    public async Task InvokeAsync(HttpContext context)
    {
        var forwarded = context.Features.Get<ForwardedRequest>()!;
        FastCgiResponseMessage response;
        try
        {
            response = await SendAsync(CreateRequest(context), context.RequestAborted);
        }
        catch (SocketException exception)
        {
            await RefuseAsync(context, forwarded, StatusCodes.Status502BadGateway, $"no connection to {settings.Address}: {exception.Message}");
            return;
        }
        catch (FastCgiProtocolException exception)
        {
            forwarded.StandardError = exception.Completion?.StandardError;
            await RefuseAsync(context, forwarded, StatusCodes.Status502BadGateway, exception.Message);
            return;
        }
        catch (TimeoutException)
        {
            await RefuseAsync(context, forwarded, StatusCodes.Status504GatewayTimeout, $"the answer did not begin within {settings.Timeout.TotalSeconds.ToString(CultureInfo.InvariantCulture)} s");
            return;
        }
        catch (OperationCanceledException)
        {
            SetGone(forwarded);
            return;
        }
        catch (IOException exception)
        {
            // The client's body ended too early.
            await RefuseAsync(context, forwarded, StatusCodes.Status400BadRequest, exception.Message);
            return;
        }

        await using (response)
            await AnswerAsync(context, forwarded, response);
    }

    private static void SetGone(ForwardedRequest forwarded)
    {
        // nginx's number for it.
        forwarded.Status = 499;
        forwarded.Note = "the client has gone";
    }

    private static async Task RefuseAsync(HttpContext context, ForwardedRequest forwarded, int status, string why)
    {
        forwarded.Note = why;
        context.Response.StatusCode = status;
        context.Response.ContentType = "text/plain; charset=utf-8";
        await context.Response.WriteAsync($"{status}: {why}\n");
    }

    private static async Task AnswerAsync(HttpContext context, ForwardedRequest forwarded, FastCgiResponseMessage response)
    {
        if (response.StatusCode < 200)
        {
            await RefuseAsync(context, forwarded, StatusCodes.Status502BadGateway, $"the answer has the status {response.StatusCode}, which is not a last one");
            return;
        }

        try
        {
            SetHead(context, response);
            await context.Response.StartAsync(context.RequestAborted);
            var buffer = new byte[32 * 1024];
            while (await response.Body.ReadAsync(buffer, context.RequestAborted) is > 0 and var read)
            {
                await context.Response.Body.WriteAsync(buffer.AsMemory(0, read), context.RequestAborted);
                await context.Response.Body.FlushAsync(context.RequestAborted);
            }

            forwarded.StandardError = (await response.Completion.WaitAsync(context.RequestAborted)).StandardError;
        }
        catch (FastCgiProtocolException exception)
        {
            // Its beginning has left. The client must see that it is cut.
            forwarded.Note = exception.Message;
            forwarded.StandardError = response.StandardError;
            context.Abort();
        }
        catch (InvalidOperationException exception) when (!context.Response.HasStarted)
        {
            // A header or a status that HTTP does not allow.
            context.Response.Clear();
            await RefuseAsync(context, forwarded, StatusCodes.Status502BadGateway, exception.Message);
        }
        catch (Exception exception) when (exception is OperationCanceledException || context.RequestAborted.IsCancellationRequested)
        {
            SetGone(forwarded);
        }
    }

    private static void SetHead(HttpContext context, FastCgiResponseMessage response)
    {
        context.Response.StatusCode = response.StatusCode;
        if (response.ReasonPhrase.Length > 0)
            context.Features.Get<IHttpResponseFeature>()!.ReasonPhrase = response.ReasonPhrase;
        // Kestrel refuses the length of an answer that cannot have one (RFC 9110, section 8.6).
        var hasNoLength = response.StatusCode is 204 or 205;
        foreach (var header in response.Headers.Where(header => !s_hopByHop.Contains(header.Key) && !(hasNoLength && header.Key.Equals("Content-Length", StringComparison.OrdinalIgnoreCase))))
            context.Response.Headers.Append(header.Key, header.Value);
    }

    private async Task<FastCgiResponseMessage> SendAsync(FastCgiRequestMessage request, CancellationToken aborted)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(aborted);
        timeout.CancelAfter(settings.Timeout);
        try
        {
            return await client.SendAsync(request, timeout.Token);
        }
        catch (OperationCanceledException) when (!aborted.IsCancellationRequested)
        {
            throw new TimeoutException();
        }
    }

    private FastCgiRequestMessage CreateRequest(HttpContext context)
    {
        var http = context.Request;
        var hasBody = context.Features.Get<IHttpRequestBodyDetectionFeature>()!.CanHaveBody;
        var request = new FastCgiRequestMessage { Body = hasBody ? http.Body : null };
        var target = context.Features.Get<IHttpRequestFeature>()!.RawTarget;
        HttpParameters.AddTarget(request.Parameters, http.Method, target, http.ContentType ?? "", http.ContentLength?.ToString(CultureInfo.InvariantCulture) ?? "");
        // Without dot segments, as nginx: an application opens the file that SCRIPT_FILENAME names.
        request.Parameters["SCRIPT_NAME"] = request.Parameters["DOCUMENT_URI"] = http.Path.HasValue ? http.Path.Value : "/";
        var connection = context.Connection;
        HttpParameters.AddConnection(
            request.Parameters, http.Scheme, http.Protocol, ToEndPoint(connection.RemoteIpAddress, connection.RemotePort), ToEndPoint(connection.LocalIpAddress, connection.LocalPort),
            http.Host.HasValue ? http.Host.Host : "localhost");
        if (settings.Root is { } root)
        {
            request.Parameters.Add("DOCUMENT_ROOT", Path.GetFullPath(root));
            request.Parameters.Add("SCRIPT_FILENAME", Path.GetFullPath(root) + request.Parameters["SCRIPT_NAME"]);
        }

        foreach (var (name, values) in http.Headers)
        {
            if (HttpParameters.IsPassed(name))
                request.Parameters.Add(HttpParameters.ToParameterName(name), string.Join(name.Equals("Cookie", StringComparison.OrdinalIgnoreCase) ? "; " : ", ", (IEnumerable<string?>)values));
        }

        foreach (var (name, value) in _parameters)
            request.Parameters[name] = value;
        return request;
    }

    private static IPEndPoint ToEndPoint(IPAddress? address, int port)
        => new(address is null ? IPAddress.Loopback : address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address, port);
}
