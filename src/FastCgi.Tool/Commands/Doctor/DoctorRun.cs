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
        try
        {
            // A socket is no regular file, so File.Exists cannot tell: what can be read as text is a configuration.
            if (IsConfiguration(settings.Target))
                await InspectFileAsync(inspector, cancellationToken);
            else
                await inspector.InspectAsync(FastCgiAddress.Parse(settings.Target), users: null, headBuffer: 4096, cancellationToken);
        }
        catch (DoctorException exception)
        {
            return console.Fail(ExitCode.CannotConnect, exception.Message, settings.IsJson);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return console.Fail(ExitCode.CannotConnect, exception.Message, settings.IsJson);
        }
        catch (OperationCanceledException)
        {
            return console.Fail(ExitCode.Failure, "Interrupted.", settings.IsJson);
        }

        return Write();
    }

    /// <summary>Whether it is a file with text, for a socket is found at a path too.</summary>
    private static bool IsConfiguration(string target)
        => File.Exists(target) && (!OperatingSystem.IsLinux() || SocketFile.Read(target) is not { IsSocket: true });

    private async Task InspectFileAsync(AddressInspector inspector, CancellationToken cancellationToken)
    {
        var text = await File.ReadAllTextAsync(settings.Target, cancellationToken);
        var isApache = settings.Server is { } server ? server == "apache" : ApacheReader.IsLike(text);
        if (isApache)
            await new ApacheInspector(_report, inspector).InspectAsync(settings.Target, text, cancellationToken);
        else
            await new NginxInspector(_report, inspector).InspectAsync(NginxReader.Read(settings.Target, text), cancellationToken);
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
            console.Out.WriteLine(fact);
        foreach (var finding in _report.Findings.OrderBy(static finding => finding.Level == DoctorFinding.Note))
        {
            var isProblem = finding.Level == DoctorFinding.Problem;
            console.Out.WriteLine();
            console.Out.WriteLine($"{(isProblem ? console.Red(finding.Level) : console.Yellow(finding.Level))} {finding.Id}  {finding.Where}");
            console.Out.WriteLine($"  seen  {finding.Evidence}");
            console.Out.WriteLine($"  then  {finding.Consequence}");
            console.Out.WriteLine($"  add   {finding.Line.Replace("\n", "\n        ", StringComparison.Ordinal)}");
            console.Out.WriteLine($"  see   {finding.Document}");
        }

        console.Out.WriteLine();
        console.Out.WriteLine($"{settings.Target}: {problems} problems, {notes} notes");
        return code;
    }
}

/// <summary>Why nothing can be said.</summary>
internal sealed class DoctorException(string message) : Exception(message);
