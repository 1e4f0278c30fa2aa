using System.Globalization;
using FastCgi.AspNetCore.Status;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Compares the limits of an application, from its status, with those of a web server.</summary>
internal sealed class ApplicationLimits(StatusSnapshot status)
{
    /// <summary>Reports bodies that the web server accepts and the application refuses.</summary>
    public void CompareBodies(DoctorReport report, string where, string evidence, long size)
    {
        if (Read("MaxRequestBodySize") is not { } limit || (size > 0 && size <= limit))
            return;

        var text = limit.ToString("N0", CultureInfo.InvariantCulture);
        report.AddNote(
            "body-size", where, $"{evidence}, and MaxRequestBodySize of the application is {text}",
                "uploads between the two are a 413, unless an endpoint has its own limit",
            string.Create(CultureInfo.InvariantCulture, $"FastCgi:Limits:MaxRequestBodySize={(size > 0 ? size : limit * 4)}"), "#413-content-too-large");
    }

    /// <summary>Reports a queue in which requests may wait longer than the web server waits for them.</summary>
    public void CompareTimes(DoctorReport report, string where, string name, double seconds)
    {
        if (Read("RequestQueueTimeout") is not { } limit || seconds <= 0 || limit < seconds)
            return;

        report.AddNote(
            "timeouts-differ", where, string.Create(CultureInfo.InvariantCulture,
                $"{name} is {seconds} s, and RequestQueueTimeout of the application is {limit} s"),
            "the web server answers 504 while the request still waits in the queue",
                $"FastCgi:Limits:RequestQueueTimeout={TimeSpan.FromSeconds(Math.Max(1, Math.Floor(seconds / 2))):c}",
            "#504-gateway-timeout");
    }

    /// <summary>A number, or a time in seconds.</summary>
    private double? Read(string name)
    {
        var text = status.Limits.FirstOrDefault(limit => limit.Name == name)?.Limit;
        return double.TryParse(text?.TrimEnd('s', ' '), NumberStyles.Number, CultureInfo.InvariantCulture, out var value) ? value : null;
    }
}
