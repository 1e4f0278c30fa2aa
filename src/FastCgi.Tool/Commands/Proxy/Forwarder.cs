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
    // Headers of one connection (RFC 9110, section 7.6.1).
    private static readonly string[] s_hopByHop = ["Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Trailer", "Proxy-Connection"];

    private readonly (string Name, string Value)[] _parameters = [.. settings.Parameters.Select(static parameter => CommonOptions.Split(parameter, '='))];

    public async Task InvokeAsync(HttpContext context)
    {
        var forwarded = context.Features.Get<ForwardedRequest>()!;
        if (HttpMethods.IsConnect(context.Request.Method))
        {
            await RefuseAsync(context, forwarded, StatusCodes.Status405MethodNotAllowed, "CONNECT is not supported");
            return;
        }

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
            var why = string.Create(CultureInfo.InvariantCulture, $"the response did not begin within {settings.Timeout.TotalSeconds} s");
            await RefuseAsync(context, forwarded, StatusCodes.Status504GatewayTimeout, why);
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
            await RefuseAsync(context, forwarded, StatusCodes.Status502BadGateway, $"the response has the interim status {response.StatusCode}");
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
            // Part of the response is sent. The client must see that it is incomplete.
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
        var dropped = GetHopByHop(response.Headers.Where(static header => header.Key.Equals("Connection", StringComparison.OrdinalIgnoreCase))
            .Select(static header => header.Value));
        if (hasNoLength)
            dropped.Add("Content-Length");
        foreach (var header in response.Headers.Where(header => !dropped.Contains(header.Key)))
            context.Response.Headers.Append(header.Key, header.Value);
    }

    /// <summary>The headers that are not passed on: those of the connection, and those that <c>Connection</c> names.</summary>
    private static HashSet<string> GetHopByHop(IEnumerable<string?> connection)
        => new(s_hopByHop.Concat(connection.SelectMany(static value => (value ?? "").Split(',', StringSplitOptions.TrimEntries))),
            StringComparer.OrdinalIgnoreCase);

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
        HttpParameters.AddTarget(request.Parameters, http.Method, target, http.ContentType ?? "",
            http.ContentLength?.ToString(CultureInfo.InvariantCulture) ?? "");
        // Without dot segments, as nginx: an application opens the file that SCRIPT_FILENAME names.
        request.Parameters["SCRIPT_NAME"] = request.Parameters["DOCUMENT_URI"] = http.Path.HasValue ? http.Path.Value : "/";
        var connection = context.Connection;
        var (remote, local) = (ToEndPoint(connection.RemoteIpAddress, connection.RemotePort), ToEndPoint(connection.LocalIpAddress, connection.LocalPort));
        HttpParameters.AddConnection(request.Parameters, http.Scheme, http.Protocol, remote, local, http.Host.HasValue ? http.Host.Host : "localhost");
        if (settings.Root is { } root)
        {
            request.Parameters.Add("DOCUMENT_ROOT", Path.GetFullPath(root));
            request.Parameters.Add("SCRIPT_FILENAME", Path.GetFullPath(root) + request.Parameters["SCRIPT_NAME"]);
        }

        var dropped = GetHopByHop(http.Headers.Connection);
        foreach (var (name, values) in http.Headers.Where(header => HttpParameters.IsPassed(header.Key) && !dropped.Contains(header.Key)))
        {
            var separator = name.Equals("Cookie", StringComparison.OrdinalIgnoreCase) ? "; " : ", ";
            request.Parameters.Add(HttpParameters.ToParameterName(name), string.Join(separator, (IEnumerable<string?>)values));
        }

        foreach (var (name, value) in _parameters)
            request.Parameters[name] = value;
        return request;
    }

    private static IPEndPoint ToEndPoint(IPAddress? address, int port)
        => new(address is null ? IPAddress.Loopback : address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address, port);
}
