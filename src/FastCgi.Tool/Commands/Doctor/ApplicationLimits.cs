using System.Globalization;
using FastCgi.AspNetCore.Status;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Limits of an application, as its status tells them, beside those of a web server.</summary>
internal sealed class ApplicationLimits(StatusSnapshot status)
{
    /// <summary>Reports a body that the web server takes, and the application does not.</summary>
    /// <param name="report">Where it is told.</param>
    /// <param name="where">Where the web server's limit stands.</param>
    /// <param name="evidence">The web server's limit as it stands there.</param>
    /// <param name="size">The same in bytes; 0 for none.</param>
    public void CompareBodies(DoctorReport report, string where, string evidence, long size)
    {
        if (Read("MaxRequestBodySize") is not { } limit || (size > 0 && size <= limit))
            return;

        var text = limit.ToString("N0", CultureInfo.InvariantCulture);
        report.AddNote(
            DoctorRule.BodySize, where, $"{evidence}, and MaxRequestBodySize of the application is {text}", "uploads between the two are a 413 of the application, unless an endpoint has a limit of its own",
            string.Create(CultureInfo.InvariantCulture, $"FastCgi:Limits:MaxRequestBodySize={(size > 0 ? size : limit * 4)}"), "troubleshooting.md#413-content-too-large");
    }

    /// <summary>Reports a request that may wait in the queue for longer than the web server waits for its answer.</summary>
    public void CompareTimes(DoctorReport report, string where, string name, double seconds)
    {
        if (Read("RequestQueueTimeout") is not { } limit || seconds <= 0 || limit < seconds)
            return;

        report.AddNote(
            DoctorRule.TimeoutsDiffer, where, string.Create(CultureInfo.InvariantCulture, $"{name} is {seconds} s, and RequestQueueTimeout of the application is {limit} s"),
            "the web server gives a request up with a 504 while it still waits for its turn", string.Create(CultureInfo.InvariantCulture, $"FastCgi:Limits:RequestQueueTimeout={TimeSpan.FromSeconds(Math.Max(1, Math.Floor(seconds / 2))):c}"),
            "troubleshooting.md#504-gateway-timeout");
    }

    /// <summary>A number, or a time in seconds.</summary>
    private double? Read(string name)
    {
        var text = status.Limits.FirstOrDefault(limit => limit.Name == name)?.Limit;
        return double.TryParse(text?.TrimEnd('s', ' '), NumberStyles.Number, CultureInfo.InvariantCulture, out var value) ? value : null;
    }
}
