namespace FastCgi.AspNetCore.Hosting;

/// <summary>A socket that this process was given by whoever started it.</summary>
/// <param name="Number">The descriptor that it was given as, which is how <c>fastcgi://fd:N</c> names it.</param>
/// <param name="Descriptor">The descriptor that it has now.</param>
/// <param name="Name">Its name in LISTEN_FDNAMES.</param>
internal sealed record InheritedSocket(int Number, int Descriptor, string? Name);
