namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The clock that a test gives the server. Otherwise it is the clock of the system, whatever <see cref="TimeProvider"/> the application has
/// registered: one that stands still would switch all timeouts off.
/// </summary>
internal sealed record ServerTime(TimeProvider Provider);
