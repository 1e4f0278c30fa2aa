using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>One run of <c>doctor</c>.</summary>
internal sealed class DoctorRun(ToolConsole console, DoctorSettings settings)
{
    private readonly DoctorReport _report = new();

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        var inspector = new AddressInspector(_report, settings);
        // A socket is not a regular file: anything readable as text is a configuration.
        if (IsConfiguration(settings.Target))
            await InspectFileAsync(inspector, cancellationToken);
        else
            await inspector.InspectAsync(FastCgiAddress.Parse(settings.Target), users: null, HeadBuffer.OfNginx(4096), cancellationToken);
        return Write();
    }

    /// <summary>Whether it is a file with text, for a socket is found at a path too.</summary>
    private static bool IsConfiguration(string target)
        => File.Exists(target) && (!OperatingSystem.IsLinux() || SocketFile.Read(target) is not { IsSocket: true });

    private async Task InspectFileAsync(AddressInspector inspector, CancellationToken cancellationToken)
    {
        var text = new ConfigurationFiles().Read(settings.Target);
        switch (settings.Server ?? FindServer(text))
        {
            case "apache":
                await new ApacheInspector(_report, inspector).InspectAsync(settings.Target, text, cancellationToken);
                break;
            case "lighttpd":
                await new LighttpdInspector(_report, inspector).InspectAsync(LighttpdReader.Read(settings.Target, text), cancellationToken);
                break;
            case "haproxy":
                await new HaProxyInspector(_report, inspector).InspectAsync(HaProxyReader.Read(settings.Target, text), cancellationToken);
                break;
            default:
                await new NginxInspector(_report, inspector).InspectAsync(NginxReader.Read(settings.Target, text), cancellationToken);
                break;
        }
    }

    private static string FindServer(string text)
    {
        if (ApacheReader.IsLike(text))
            return "apache";
        if (LighttpdReader.IsLike(text))
            return "lighttpd";
        return HaProxyReader.IsLike(text) ? "haproxy" : "nginx";
    }

    private int Write()
    {
        var problems = _report.Findings.Count(static finding => finding.Level == DoctorFinding.Problem);
        var notes = _report.Findings.Count - problems;
        var code = problems > 0 || (settings.IsStrict && notes > 0) ? ExitCode.Failure : ExitCode.Ok;
        if (settings.IsJson)
        {
            console.WriteJson(new DoctorDocument(settings.Target, problems, notes, _report.Findings, _report.Facts), ToolJson.Default.DoctorDocument);
            return code;
        }

        foreach (var fact in _report.Facts)
            console.Out.WriteLine(PlainText.Line(fact));
        foreach (var finding in _report.Findings.OrderBy(static finding => finding.Level == DoctorFinding.Note))
        {
            var isProblem = finding.Level == DoctorFinding.Problem;
            console.Out.WriteLine();
            console.Out.WriteLine($"{(isProblem ? console.Red(finding.Level) : console.Yellow(finding.Level))} {finding.Id}  {PlainText.Line(finding.Where)}");
            console.Out.WriteLine($"  seen  {PlainText.Line(finding.Evidence)}");
            console.Out.WriteLine($"  then  {PlainText.Line(finding.Consequence)}");
            console.Out.WriteLine($"  add   {PlainText.Lines(finding.Line).Replace("\n", "\n        ", StringComparison.Ordinal)}");
            console.Out.WriteLine($"  see   {finding.Document}");
        }

        console.Out.WriteLine();
        console.Out.WriteLine($"{settings.Target}: {problems} problems, {notes} notes");
        return code;
    }
}
