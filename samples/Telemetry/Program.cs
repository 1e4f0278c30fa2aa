using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.

// To a collector, at OTEL_EXPORTER_OTLP_ENDPOINT: the server's figures, those of ASP.NET Core, and a trace of each request.
builder.Services.AddOpenTelemetry()
    .WithMetrics(metrics => metrics.AddMeter("FastCgi.AspNetCore", "Microsoft.AspNetCore.Hosting").AddOtlpExporter())
    .WithTracing(traces => traces.AddAspNetCoreInstrumentation().AddOtlpExporter());
var app = builder.Build();

app.MapGet("/", () => "Measured.\n");

// For Prometheus, without a package: prometheus.yml. nginx.conf lets only this machine read it.
app.MapFastCgiStatus().AllowAnonymous();
app.Run();
