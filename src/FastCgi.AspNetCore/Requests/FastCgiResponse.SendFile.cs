using System.Buffers;
using System.Globalization;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Requests;

/// <content>Files as bodies: sent by the web server where it can, else read and written in turns.</content>
internal sealed partial class FastCgiResponse
{
    // The web server sends the file, so that the response that it gets is a 200, whatever range it makes of it.
    private bool _isOffloaded;

    /// <inheritdoc/>
    public async Task SendFileAsync(string path, long offset, long? count, CancellationToken cancellationToken = default)
    {
        var part = FilePart.Check(path, offset, count);
        cancellationToken.ThrowIfCancellationRequested();

        if (_isHead)
            await FlushAsync(cancellationToken);
        else if (!await TryOffloadAsync(part))
            await StreamFileAsync(path, offset, count, cancellationToken);
    }

    private async ValueTask<bool> TryOffloadAsync(FilePart part)
    {
        if (Settings.SendFileOffload is not { } offload || IsAuthorizer || HasStarted)
            return false;

        // They have the last word on status and headers.
        await FireOnStartingAsync();
        var (statusCode, version) = (_statusCode, _headers.Version);
        if (!offload.TryGetHeader(part, statusCode, _request.Headers, _applicationHeaders, out var header, out var obstacle))
        {
            _request.Log.FileStreamed(_request.Connection.Id, _request.TraceIdentifier, part.File.FullName, obstacle);
            return false;
        }

        // A dictionary that the application has put in place of ours is its own: no lock is held when it is called.
        var headers = _applicationHeaders;
        var isReplaced = !ReferenceEquals(headers, _headers);
        var declared = headers.ContentLength;
        using (var scope = _request.EnterLock())
        {
            ThrowIfOver();
            if (HasStarted || _isOffloaded || _bytesWritten > 0 || _request.ApplicationError is not null)
                return false;
            // Another thread has changed what it was decided by.
            if (_statusCode != statusCode || _headers.Version != version)
                return false;

            CountWrite(part.Length, declared);
            _isOffloaded = true;
            if (!isReplaced)
                _headers.SetOffload(scope, header);
            // From here on they are final, as those of a response that has started.
            _headers.MakeReadOnly(scope);
        }

        if (isReplaced)
            SetOffload(headers, header);
        _request.Log.FileOffloaded(_request.Connection.Id, _request.TraceIdentifier, part.File.FullName, header.Value);
        // The end goes with the header block: nginx closes the connection as soon as it has read that.
        await CompleteAsync(exception: null);
        return true;
    }

    private static void SetOffload(IHeaderDictionary headers, KeyValuePair<string, string> header)
    {
        headers[header.Key] = header.Value;
        foreach (var name in SendFileOffload.GetReplacedHeaders(header.Key))
            headers.Remove(name);
    }

    private async Task StreamFileAsync(string path, long offset, long? count, CancellationToken cancellationToken)
    {
        // Not asynchronously: on Unix that is a read on another thread, for each of these that the cache answers in microseconds.
        using var file = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite, FileOptions.SequentialScan);
        ThrowIfForThreads(file, path);
        // Not memory of the response: a read that an application does not wait for could outlive it.
        var buffer = ArrayPool<byte>.Shared.Rent(ResponseStaging.MaxLeaseLength);
        try
        {
            for (var rest = count ?? long.MaxValue; rest > 0;)
            {
                var wanted = (int)Math.Min(rest, ResponseStaging.MaxLeaseLength);
                var read = RandomAccess.Read(file, buffer.AsSpan(0, wanted), offset);
                if (read == 0)
                {
                    ThrowIfCounted(path, count, rest);
                    return;
                }

                var written = await WriteAsync(buffer.AsMemory(0, read), cancellationToken);
                if (written.IsCompleted)
                    return;

                offset += read;
                rest -= read;
            }
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    /// <summary>Clients that take files slowly keep them open, in any number: without the last descriptors .NET would end the process.</summary>
    private void ThrowIfForThreads(SafeFileHandle file, string path)
    {
        if (Settings.GetMaxDescriptors?.Invoke() is { } limit && file.DangerousGetHandle() >= DescriptorHeadroom.CountForFiles(limit))
            throw new IOException(string.Create(
                CultureInfo.InvariantCulture,
                $"The file '{path}' is not sent: Too many open files. The last of the {limit} descriptors that the process may have are left to threads. Raise LimitNOFILE= of the systemd unit, or ulimit -n."));
    }

    /// <summary>Without a count the end of the file is the end, wherever it is by now.</summary>
    private static void ThrowIfCounted(string path, long? count, long rest)
    {
        if (count is not null)
            throw new IOException($"The file '{path}' has become shorter while it was sent: {rest} of {count} bytes are missing.");
    }
}
