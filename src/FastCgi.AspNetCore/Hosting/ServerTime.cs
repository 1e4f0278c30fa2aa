namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The server's clock, which only tests replace. The application's <see cref="TimeProvider"/> is ignored: if it stood
/// still, it would disable timeouts.
/// </summary>
internal sealed record ServerTime(TimeProvider Provider);
