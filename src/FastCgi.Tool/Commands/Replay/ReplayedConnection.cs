using System.Diagnostics;
using System.Net.Sockets;
using FastCgi.Client;
using FastCgi.Tool.Commands.Recording;

namespace FastCgi.Tool.Commands.Replay;

/// <summary>One connection of a recording, sent again.</summary>
internal sealed class ReplayedConnection(int number, RecordingLine[] lines, FastCgiAddress address, ReplaySettings settings, Stopwatch watch)
{
    private readonly Lock _lock = new();
    private TaskCompletionSource _changed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isClosed;
    private bool _isDeaf;

    public int Number => number;

    public Conversation Recorded { get; } = new();

    public Conversation Replayed { get; } = new();

    /// <summary>Sends what came from the web server, each part behind as many ends of requests as before, and waits for the last answer.</summary>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        using var socket = address.EndPoint is UnixDomainSocketEndPoint
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await WaitForTimeAsync(lines[0].T ?? 0, cancellationToken);
        await socket.ConnectAsync(address.EndPoint, cancellationToken);
        var receiving = ReceiveAsync(socket, cancellationToken);
        foreach (var line in lines)
        {
            if (line is { From: RecordingLine.Web, Bytes: { } bytes })
            {
                await WaitForEndsAsync(Recorded.Ended, cancellationToken);
                await WaitForTimeAsync(line.T ?? 0, cancellationToken);
                Recorded.TakeFromWeb(bytes);
                lock (_lock)
                    Replayed.TakeFromWeb(bytes);
                await SendAsync(socket, bytes, cancellationToken);
            }
            else if (line is { From: RecordingLine.Application, Bytes: { } answer })
            {
                Recorded.TakeFromApplication(answer);
            }
        }

        await WaitForEndsAsync(Recorded.Ended, cancellationToken);
        socket.Close();
        await receiving;
    }

    private async Task SendAsync(Socket socket, byte[] bytes, CancellationToken cancellationToken)
    {
        if (_isDeaf)
            return;

        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.Timeout);
        try
        {
            for (var rest = bytes.AsMemory(); !rest.IsEmpty;)
                rest = rest[await socket.SendAsync(rest, timeout.Token)..];
        }
        catch (SocketException)
        {
            // The application has closed. Its answers tell whether it should have.
            SetClosed();
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            // It does not read. A part of a record has left, so that nothing behind it would be understood.
            _isDeaf = true;
            SetClosed();
        }
    }

    private async Task ReceiveAsync(Socket socket, CancellationToken cancellationToken)
    {
        var buffer = new byte[64 * 1024];
        try
        {
            while (await socket.ReceiveAsync(buffer, cancellationToken) is > 0 and var received)
            {
                lock (_lock)
                    Replayed.TakeFromApplication(buffer.AsSpan(0, received));
                Signal();
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException or OperationCanceledException)
        {
            // Closed, by whomever.
        }

        SetClosed();
    }

    private async Task WaitForEndsAsync(int count, CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.Timeout);
        try
        {
            while (true)
            {
                Task changed;
                lock (_lock)
                {
                    if (Replayed.Ended >= count || _isClosed || Replayed.Problem is not null)
                        return;

                    changed = _changed.Task;
                }

                await changed.WaitAsync(timeout.Token);
            }
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            // The answer is missing, and is reported so. The rest is not waited for either.
            SetClosed();
        }
    }

    private async Task WaitForTimeAsync(double seconds, CancellationToken cancellationToken)
    {
        if (settings.Speed is not { } speed)
            return;

        // What no timer takes nobody waits for.
        var left = Math.Min((seconds / speed) - watch.Elapsed.TotalSeconds, TimeSpan.FromDays(49).TotalSeconds);
        if (left > 0)
            await Task.Delay(TimeSpan.FromSeconds(left), cancellationToken);
    }

    private void SetClosed()
    {
        lock (_lock)
            _isClosed = true;
        Signal();
    }

    private void Signal()
    {
        TaskCompletionSource changed;
        lock (_lock)
            (changed, _changed) = (_changed, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
        changed.TrySetResult();
    }
}
