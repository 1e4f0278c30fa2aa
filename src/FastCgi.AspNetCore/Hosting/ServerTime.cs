namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The clock of a test. Otherwise, the server uses the system clock and ignores the application's <see cref="TimeProvider"/>: a clock that stands still
/// would disable all timeouts.
/// </summary>
internal sealed record ServerTime(TimeProvider Provider);
