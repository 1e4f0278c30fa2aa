namespace FastCgi.AspNetCore.Hosting;

/// <summary>The server's clock, for tests. An application's <see cref="TimeProvider"/> could stop timeouts.</summary>
internal sealed record ServerTime(TimeProvider Provider);
