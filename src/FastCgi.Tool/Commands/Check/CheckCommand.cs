namespace FastCgi.Tool.Commands.Check;

internal sealed class CheckCommand : ToolCommand
{
    // Limits the load on a server that others use.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(20);

    public CheckCommand(ToolConsole console)
        : base(console, "check", "Checks a server against the FastCGI specification, statement by statement.")
    {
        AddAddress();
        AddPath();
        AddParameters();
        AddFlag("--hostile", "Also send malformed and hostile input");
        AddTexts("--only", "NAME", "Run only this check; repeatable", static text => All.Any(check => check.Id == text)
            ? null
            : $"There is no check '{text}'. The checks are {string.Join(", ", All.Select(static one => one.Id))}.");
        AddTimeoutAndJson("How long to wait for a response", 5);
    }

    public static IReadOnlyList<CheckCase> Polite { get; } =
        [.. RecordChecks.All, .. RecordChecks.Parameters, .. ManagementChecks.All, .. ConnectionChecks.All,
            .. RequestChecks.All, .. ConnectionChecks.Shared];

    public static IReadOnlyList<CheckCase> All { get; } = [.. Polite, .. HostileChecks.All];

    protected override async Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        var context = new CheckContext(
            arguments.GetAddress(), arguments.GetText("--path")!, arguments.GetParameters(), arguments.GetTimeout());
        var only = arguments.GetValue<string[]>("--only") ?? [];
        var chosen = only.Length > 0 || arguments.Has("--hostile") ? All : Polite;
        var plain = await context.AskAsync(context.CreateGet(keepsConnection: false));
        if (!plain.IsWhole)
            throw Failure(
                $"The server cannot be checked: a GET of {context.Path} gets no response ({plain.Describe()}).");

        context.Status = plain.Status;
        var results = new List<CheckedStatement>();
        foreach (var check in chosen.Where(check => only.Length == 0 || only.Contains(check.Id)))
        {
            var (verdict, detail) = await RunAsync(check, context);
            var result = verdict.ToString().ToLowerInvariant();
            results.Add(new CheckedStatement(check.Id, result, check.Statement, check.Source, detail));
            await Task.Delay(s_pause, cancellationToken);
        }

        return Report(arguments, context, results);
    }

    private static async Task<(CheckVerdict Verdict, string Detail)> RunAsync(CheckCase check, CheckContext context)
    {
        try
        {
            context.StartClock();
            return (CheckVerdict.Pass, await check.RunAsync(context));
        }
        catch (Exception exception) when (exception is CheckException or SocketException)
        {
            return ((exception as CheckException)?.Verdict ?? CheckVerdict.Fail, exception.Message);
        }
    }

    private int Report(ParseResult arguments, CheckContext context, List<CheckedStatement> results)
    {
        var (passed, failed, chosen, skipped) = (Count("pass"), Count("fail"), Count("choice"), Count("skipped"));
        if (arguments.IsJson())
        {
            Terminal.WriteJson(new CheckDocument($"{arguments.GetAddress()}", context.Status, passed, failed, chosen,
                skipped, results), ToolJson.Default.CheckDocument);
        }
        else
        {
            var first = results.Max(static result => result.Result.Length) + 2;
            var second = results.Max(static result => result.Id.Length) + 2;
            foreach (var result in results)
            {
                Func<string, string> color =
                    result.Result switch { "pass" => Terminal.Green, "fail" => Terminal.Red, _ => Terminal.Yellow };
                var detail = result.Detail.Length > 0 ? $" -- {result.Detail}" : "";
                Terminal.Out.WriteLine(color(result.Result.PadRight(first)) + result.Id.PadRight(second)
                    + PlainText.Line($"{result.Statement} [{result.Source}]{detail}"));
            }

            Terminal.Out.WriteLine(
                $"\n{arguments.GetAddress()}: {passed} passed, {failed} failed, {chosen} choices, {skipped} skipped");
        }

        return failed == 0 ? ExitCode.Ok : ExitCode.Failure;

        int Count(string verdict) => results.Count(result => result.Result == verdict);
    }
}

internal sealed record CheckDocument(string Address, int Status, int Passed, int Failed, int Choices, int Skipped,
    IReadOnlyList<CheckedStatement> Results);

internal sealed record CheckedStatement(string Id, string Result, string Statement, string Source, string Detail);
