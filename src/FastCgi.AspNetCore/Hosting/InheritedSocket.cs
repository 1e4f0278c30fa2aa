namespace FastCgi.AspNetCore.Hosting;

/// <summary>A listening socket from the parent process.</summary>
/// <param name="Number">Its original descriptor, as in <c>fastcgi://fd:N</c>.</param>
internal sealed record InheritedSocket(int Number, int Descriptor, string? Name);
