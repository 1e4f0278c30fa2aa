namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The clock of a test. The application's <see cref="TimeProvider"/> is ignored: if it stood still, it would disable
/// timeouts.
/// </summary>
internal sealed record ServerTime(TimeProvider Provider);
