using System.Diagnostics;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using FastCgi.Client;
using FastCgi.Client.Cgi;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What answers at an address.</summary>
internal enum Spoken
{
    /// <summary>Nothing came.</summary>
    Nothing,
    FastCgi,
    Http,
    Tls,
}

/// <summary>What came of a look at an address.</summary>
/// <param name="ConnectError">Why there is no connection.</param>
/// <param name="Spoken">What is spoken there.</param>
/// <param name="Status">The status of the page, or 0.</param>
/// <param name="HeadSize">How many bytes of response headers it has.</param>
/// <param name="Elapsed">How long it took.</param>
/// <param name="Flaw">What was wrong with the answer.</param>
/// <param name="LongestHeader">How many bytes the longest of them has.</param>
/// <param name="IsPhp">Whether PHP answers, and has no script.</param>
internal sealed record ProbeResult(SocketError? ConnectError, Spoken Spoken, int Status = 0, int HeadSize = 0, TimeSpan Elapsed = default,
    string? Flaw = null, int LongestHeader = 0, bool IsPhp = false);

/// <summary>Connects to an address and finds out what is spoken there.</summary>
internal sealed class ApplicationProbe(FastCgiAddress address, string path, (string Name, string Value)[] parameters, TimeSpan timeout)
{
    private const string Host = "localhost";

    public async Task<ProbeResult> RunAsync(CancellationToken cancellationToken)
    {
        try
        {
            using (await ConnectAsync(cancellationToken))
            {
            }
        }
        catch (SocketException exception)
        {
            return new ProbeResult(exception.SocketErrorCode, Spoken.Nothing);
        }

        var answer = await RequestAsync(cancellationToken);
        return answer.Flaw is null ? answer : answer with { Spoken = await FindOtherProtocolAsync(answer.Spoken, cancellationToken) };
    }

    /// <summary>What the application answers to GET_VALUES.</summary>
    /// <returns><see langword="null"/> if it does not.</returns>
    public async Task<string?> GetValuesAsync(CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        using var client = CreateClient();
        try
        {
            var values = await client.GetValuesAsync(["FCGI_MAX_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS"], limit.Token);
            return string.Join(", ", values.Select(static pair => $"{pair.Key}={pair.Value}"));
        }
        catch (Exception exception) when (exception is IOException or SocketException
            || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            return null;
        }
    }

    private FastCgiClient CreateClient() => new(address, new FastCgiClientOptions { KeepConnections = false, ConnectTimeout = timeout });

    private async Task<ProbeResult> RequestAsync(CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        using var client = CreateClient();
        var watch = Stopwatch.StartNew();
        try
        {
            await using var response = await client.SendAsync(CreateRequest(), limit.Token);
            var sizes = response.Headers.Select(static header => Encoding.UTF8.GetByteCount(header.Key) + Encoding.UTF8.GetByteCount(header.Value) + ": \r\n".Length).ToList();
            var size = sizes.Sum() + "Status: 200 OK\r\n\r\n".Length;
            var isPhp = response.StatusCode == 404 && response.StandardError.Contains("Primary script unknown", StringComparison.Ordinal);
            return new ProbeResult(null, Spoken.FastCgi, response.StatusCode, size, watch.Elapsed, LongestHeader: sizes.DefaultIfEmpty().Max(), IsPhp: isPhp);
        }
        catch (FastCgiProtocolException exception)
        {
            // An END_REQUEST, or what the application says of its failure, is FastCGI all the same.
            return new ProbeResult(null, exception.Completion is null ? Spoken.Nothing : Spoken.FastCgi, Flaw: exception.Message);
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            return new ProbeResult(null, Spoken.Nothing, Flaw: exception.Message);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return new ProbeResult(null, Spoken.Nothing, Flaw: "nothing came");
        }
    }

    private FastCgiRequestMessage CreateRequest()
    {
        var request = new FastCgiRequestMessage();
        HttpParameters.AddTarget(request.Parameters, "GET", path, "", "");
        HttpParameters.AddConnection(request.Parameters, "http", "HTTP/1.1", new IPEndPoint(IPAddress.Loopback, 0),
            new IPEndPoint(IPAddress.Loopback, 80), Host);
        request.Parameters.Add("HTTP_HOST", Host);
        request.Parameters.Add("HTTP_USER_AGENT", "fastcgi-doctor");
        foreach (var (name, value) in parameters)
            request.Parameters[name] = value;
        return request;
    }

    private async Task<Spoken> FindOtherProtocolAsync(Spoken spoken, CancellationToken cancellationToken)
    {
        if (spoken == Spoken.FastCgi || await GetValuesAsync(cancellationToken) is not null)
            return Spoken.FastCgi;
        if (await SpeaksTlsAsync(cancellationToken))
            return Spoken.Tls;
        return await SpeaksHttpAsync(cancellationToken) ? Spoken.Http : Spoken.Nothing;
    }

    private async Task<bool> SpeaksHttpAsync(CancellationToken cancellationToken)
    {
        var start = await ExchangeAsync("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"u8.ToArray(), cancellationToken);
        return start.AsSpan().StartsWith("HTTP/"u8);
    }

    private async Task<bool> SpeaksTlsAsync(CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        try
        {
            using var socket = await ConnectAsync(limit.Token);
            await using var stream = new SslStream(new NetworkStream(socket), leaveInnerStreamOpen: false);
            await stream.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = Host }, limit.Token);
            return true;
        }
        catch (System.Security.Authentication.AuthenticationException exception)
        {
            // A certificate that is not trusted here has come over TLS. Whatever else fails has not.
            return exception.Message.Contains("certificate", StringComparison.OrdinalIgnoreCase);
        }
        catch (Exception exception) when (exception is IOException or SocketException
            || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            return false;
        }
    }

    private async Task<byte[]> ExchangeAsync(byte[] bytes, CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        try
        {
            using var socket = await ConnectAsync(limit.Token);
            await socket.SendAsync(bytes, limit.Token);
            var buffer = new byte[64];
            var read = await socket.ReceiveAsync(buffer, limit.Token);
            return buffer[..read];
        }
        catch (Exception exception) when (exception is SocketException
            || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            return [];
        }
    }

    private async Task<Socket> ConnectAsync(CancellationToken cancellationToken)
    {
        var socket = address.EndPoint is UnixDomainSocketEndPoint
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp);
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        try
        {
            await socket.ConnectAsync(address.EndPoint, limit.Token);
            return socket;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            socket.Dispose();
            throw new SocketException((int)SocketError.TimedOut);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
