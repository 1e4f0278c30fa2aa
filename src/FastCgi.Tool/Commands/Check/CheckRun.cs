using System.Net.Sockets;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Check;

/// <summary>One run of <c>check</c>.</summary>
internal sealed class CheckRun(ToolConsole console, CheckSettings settings)
{
    private const int Width = 150;

    // So that a server that others use does not feel it.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(20);

    public static IReadOnlyList<CheckCase> Polite { get; } =
        [.. RecordChecks.All, .. ParamsChecks.All, .. ManagementChecks.All, .. ConnectionChecks.All, .. RequestChecks.All, .. MultiplexingChecks.All];

    public static IReadOnlyList<CheckCase> All { get; } = [.. Polite, .. HostileChecks.All];

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        var parameters = settings.Parameters.Select(static parameter => CommonOptions.Split(parameter, '=')).ToList();
        var context = new CheckContext(settings.Address, settings.Path, parameters, settings.Timeout);
        try
        {
            var plain = await context.AskAsync(context.CreateGet(keepsConnection: false));
            if (!plain.IsWhole)
                throw new ToolException(ExitCode.Failure, $"Nothing can be checked: a plain GET of {settings.Path} has no response ({plain.Describe()}).");

            context.Status = plain.Status;
            var results = new List<(CheckCase Case, CheckResult Result)>();
            foreach (var check in Choose())
            {
                results.Add((check, await RunAsync(check, context)));
                await Task.Delay(s_pause, cancellationToken);
            }

            return Report(context.Status, results);
        }
        catch (SocketException exception)
        {
            throw ToolException.NoConnection(settings.Address, exception);
        }
    }

    private static async Task<CheckResult> RunAsync(CheckCase check, CheckContext context)
    {
        try
        {
            return await check.RunAsync(context);
        }
        catch (TimeoutException)
        {
            return CheckResult.Fail("no answer");
        }
        catch (InvalidDataException exception)
        {
            return CheckResult.Fail(exception.Message);
        }
        catch (SocketException exception)
        {
            return CheckResult.Fail($"no connection: {exception.Message}");
        }
    }

    private IEnumerable<CheckCase> Choose() => settings.Only.Length > 0
        ? All.Where(check => settings.Only.Contains(check.Id))
        : settings.IsHostile ? All : Polite;

    private int Report(int status, List<(CheckCase Case, CheckResult Result)> results)
    {
        var (passed, failed, chosen, skipped) = (Count(CheckVerdict.Pass), Count(CheckVerdict.Fail), Count(CheckVerdict.Choice), Count(CheckVerdict.Skipped));
        if (settings.IsJson)
        {
            console.WriteJson(new CheckDocument(settings.Address.ToString(), status, passed, failed, chosen, skipped,
                [.. results.Select(static result => new CheckedStatement(
                result.Case.Id, result.Result.Verdict.ToString().ToLowerInvariant(), result.Case.Statement, result.Case.Source,
                    result.Result.Detail))]), ToolJson.Default.CheckDocument);
        }
        else
        {
            var table = new TextTable("result", "check", "statement, source, and result");
            foreach (var (check, result) in results)
            {
                var detail = result.Detail.Length > 0 ? $" -- {result.Detail}" : "";
                table.Add([result.Verdict.ToString().ToLowerInvariant(), check.Id, $"{check.Statement} [{check.Source}]{detail}"], GetColour(result.Verdict));
            }

            table.Write(console.Out, Width);
            console.Out.WriteLine();
            console.Out.WriteLine($"{settings.Address}: {passed} passed, {failed} failed, {chosen} choices, {skipped} skipped");
        }

        return failed == 0 ? ExitCode.Ok : ExitCode.Failure;

        int Count(CheckVerdict verdict) => results.Count(result => result.Result.Verdict == verdict);
    }

    private Func<string, string> GetColour(CheckVerdict verdict) => verdict switch
    {
        CheckVerdict.Pass => console.Green,
        CheckVerdict.Fail => console.Red,
        _ => console.Yellow,
    };
}

/// <summary>What <c>check --json</c> writes.</summary>
internal sealed record CheckDocument(string Address, int Status, int Passed, int Failed, int Choices, int Skipped, CheckedStatement[] Results);

/// <summary>One statement, and what was found.</summary>
internal sealed record CheckedStatement(string Id, string Result, string Statement, string Source, string Detail);
