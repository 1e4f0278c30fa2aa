using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.

// The metrics of the server and of ASP.NET Core, and a trace of each request, for a collector at
// OTEL_EXPORTER_OTLP_ENDPOINT. Prometheus reads the metrics at /metrics.
builder.Services.AddOpenTelemetry()
    .WithMetrics(
        metrics => metrics.AddMeter("FastCgi.AspNetCore", "Microsoft.AspNetCore.Hosting")
            .AddOtlpExporter()
            .AddPrometheusExporter())
    .WithTracing(traces => traces.AddAspNetCoreInstrumentation().AddOtlpExporter());
var app = builder.Build();

app.MapGet("/", () => "Measured.\n");

// nginx.conf allows only this machine to read it.
app.MapPrometheusScrapingEndpoint();
app.Run();
