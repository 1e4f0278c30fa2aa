using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Cgi;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the connections and requests of one server share.</summary>
internal sealed class ServerContext
{
    public required FastCgiServerOptions Options { get; init; }

    public required CgiMapping Mapping { get; init; }

    public required RequestPool Requests { get; init; }

    public required ILogger Log { get; init; }

    public BufferPool Buffers { get; } = new();

    public RequestAdmission Admission { get; init; } = new();

    /// <summary>How many connections the process can have, for lack of a limit of its own.</summary>
    public long MaxDescriptors { get; init; } = 1_024;

    public TimeProvider Time { get; init; } = TimeProvider.System;
}
