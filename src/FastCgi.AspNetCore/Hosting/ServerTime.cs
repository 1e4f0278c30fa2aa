namespace FastCgi.AspNetCore.Hosting;

/// <summary>The server's clock; tests set it. The application's <see cref="TimeProvider"/> may stand still.</summary>
internal sealed record ServerTime(TimeProvider Provider);
