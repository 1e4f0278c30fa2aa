namespace FastCgi.AspNetCore.Hosting;

/// <summary>A listening socket from the parent process.</summary>
/// <param name="Number">Its original descriptor, as in <c>fastcgi://fd:N</c>.</param>
/// <param name="Descriptor">Its current descriptor.</param>
/// <param name="Name">Its name in LISTEN_FDNAMES.</param>
internal sealed record InheritedSocket(int Number, int Descriptor, string? Name);
