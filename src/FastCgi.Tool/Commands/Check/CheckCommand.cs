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
        AddTexts("--only", "NAME", "Run only this check; repeatable", static text => Checks.Ids.Contains(text)
            ? null
            : $"There is no check '{text}'. The checks are {string.Join(", ", Checks.Ids)}.");
        AddTimeoutAndJson("How long to wait for a response", 5);
    }

    protected override async Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        var address = arguments.GetAddress();
        var checks = new Checks(
            address, arguments.GetText("--path")!, arguments.GetParameters(), arguments.GetTimeout());
        var only = arguments.GetValue<string[]>("--only") ?? [];
        var results = await checks.RunAsync(only, arguments.Has("--hostile"), s_pause, cancellationToken);
        var (passed, failed, skipped) = (Count("pass"), Count("fail"), Count("skipped"));
        if (arguments.IsJson())
        {
            Terminal.WriteJson(new CheckDocument($"{address}", checks.Status, passed, failed, skipped, results),
                ToolJson.Default.CheckDocument);
            return failed == 0 ? ExitCode.Ok : ExitCode.Failure;
        }

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

        Terminal.Out.WriteLine($"\n{address}: {passed} passed, {failed} failed, {skipped} skipped");
        return failed == 0 ? ExitCode.Ok : ExitCode.Failure;

        int Count(string verdict) => results.Count(result => result.Result == verdict);
    }
}

internal sealed record CheckDocument(
    string Address, int Status, int Passed, int Failed, int Skipped, IReadOnlyList<CheckedStatement> Results);

internal sealed record CheckedStatement(string Id, string Result, string Statement, string Source, string Detail);
