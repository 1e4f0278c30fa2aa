namespace FastCgi.AspNetCore.Requests;

/// <content>Files as bodies: the web server sends them if it can; otherwise the server reads and writes them.</content>
internal sealed partial class FastCgiResponse
{
    // The web server sends the file. It receives a 200, from which it derives the status.
    private volatile bool _isOffloaded;

    public async Task SendFileAsync(
        string path, long offset, long? count, CancellationToken cancellationToken = default)
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
        if (_request.Server.SendFileOffload is not { } offload || IsAuthorizer || HasStarted)
            return false;

        // Callbacks may still change status and headers.
        await FireOnStartingAsync();
        // Without the lock, because reading attributes of files may take any time.
        var obstacle = offload.FindHeader(part.File, out var header);
        // From the decision on, status and headers are final, as if the response had started.
        _headers.SetReadOnly(isReadOnly: true);
        try
        {
            obstacle ??= offload.FindObstacle(part, header, _statusCode, _request.Headers, _headers);
            if (!TryOffload(part, header, obstacle))
                return false;
        }
        finally
        {
            EndStart();
        }

        _request.Log.FileOffloaded(_request.Connection.Id, _request.TraceIdentifier, part.File.FullName, header.Value);
        // The end is sent with the header block, after which nginx closes the connection.
        await CompleteAsync(exception: null);
        return true;
    }

    private bool TryOffload(FilePart part, KeyValuePair<string, string> header, string? obstacle)
    {
        using (var scope = _request.EnterLock())
        {
            ThrowIfOver();
            ref var state = ref In(scope);
            if (HasStarted || _isOffloaded || state.BytesWritten > 0 || _request.ApplicationError is not null)
                return false;

            if (obstacle is null)
            {
                CountWrite(ref state, part.Length);
                _isOffloaded = true;
                _headers.SetOffload(header);
            }
        }

        if (obstacle is not null)
            _request.Log.FileStreamed(_request.Connection.Id, _request.TraceIdentifier, part.File.FullName, obstacle);
        return obstacle is null;
    }

    private async Task StreamFileAsync(string path, long offset, long? count, CancellationToken cancellationToken)
    {
        // Synchronously: on Unix, an asynchronous read blocks another thread, while most data is cached.
        using var file = File.OpenHandle(
            path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite, FileOptions.SequentialScan);
        ThrowIfForThreads(file, path);
        // Not the response's memory: if the application does not await this, a read could outlive the response.
        var buffer = ArrayPool<byte>.Shared.Rent(ResponseStaging.MaxLeaseLength);
        try
        {
            for (var rest = count ?? long.MaxValue; rest > 0;)
            {
                var wanted = (int)Math.Min(rest, ResponseStaging.MaxLeaseLength);
                var read = RandomAccess.Read(file, buffer.AsSpan(0, wanted), offset);
                // Without a count, the current end of the file applies.
                if (read == 0 && count is null)
                    return;
                if (read == 0)
                    throw new IOException($"The file '{path}' was truncated while it was being sent: {rest} of {count} "
                        + "bytes are missing.");

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

    /// <summary>Limits open files of slow clients: without free descriptors, .NET ends the process.</summary>
    private void ThrowIfForThreads(SafeFileHandle file, string path)
    {
        var limit = _request.Server.GetMaxDescriptors();
        // Of the descriptors that connections leave free, files may use half.
        var maxHandle = limit - ((limit - _request.Server.GetMaxConnections()) / 2);
        if (!OperatingSystem.IsLinux() || file.DangerousGetHandle() < maxHandle)
            return;

        // Before the exception is created: many requests may fail at once, and their traces take descriptors too.
        file.Dispose();
        throw new IOException(string.Create(
            CultureInfo.InvariantCulture,
            $"The file '{path}' is not sent: Too many open files. The last of the process's {limit} descriptors "
                + $"are reserved for threads. Raise LimitNOFILE= in the systemd unit, or ulimit -n."));
    }
}
