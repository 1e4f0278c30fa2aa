namespace FastCgi.Tool.Commands.Check;

internal sealed class CheckCommand : ToolCommand
{
    // Limits the load on a server that others use.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(20);

    private static readonly Check[] s_all = [.. Checks.All, .. HostileChecks.All];

    public CheckCommand(ToolConsole console)
        : base(console, "check", "Checks a server against the FastCGI specification, statement by statement.")
    {
        AddAddress();
        AddPath();
        AddParameters();
        AddFlag("--hostile", "Also send malformed and hostile input");
        var ids = s_all.Select(static check => check.Id).ToList();
        AddTexts("--only", "NAME", "Run only this check; repeatable", text
            => ids.Contains(text) ? null : $"There is no check '{text}'. The checks are {string.Join(", ", ids)}.");
        AddTimeoutAndJson("How long to wait for a response", 5);
    }

    protected override async Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        var address = arguments.GetAddress();
        var server = new CheckedServer(
            address, arguments.GetText("--path")!, arguments.GetParameters(), arguments.GetTimeout());
        var results = await RunAsync(server, SelectChecks(arguments), cancellationToken);
        var (passed, failed, skipped) = (Count("pass"), Count("fail"), Count("skipped"));
        if (arguments.IsJson())
        {
            Terminal.WriteJson(new CheckDocument($"{address}", server.Status, passed, failed, skipped, results),
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

    private static IEnumerable<Check> SelectChecks(ParseResult arguments)
    {
        if (arguments.GetValue<string[]>("--only") is { Length: > 0 } only)
            return s_all.Where(check => only.Contains(check.Id));
        return arguments.Has("--hostile") ? s_all : Checks.All;
    }

    /// <exception cref="ToolException">A plain GET gets no response.</exception>
    private static async Task<List<CheckedStatement>> RunAsync(
        CheckedServer server, IEnumerable<Check> checks, CancellationToken cancellationToken)
    {
        using (var run = new CheckRun(server))
        {
            var plain = await run.AskAsync(server.Get(keepsConnection: false));
            if (!plain.IsWhole)
                throw Failure($"The server cannot be checked: a GET of {server.Path} gets no response "
                    + $"({plain.Describe()}).");
            server.Status = plain.Status;
        }

        var results = new List<CheckedStatement>();
        foreach (var check in checks)
        {
            using var run = new CheckRun(server);
            var (verdict, detail) = await run.RunAsync(check.Script(server));
            results.Add(new CheckedStatement(check.Id, verdict, check.Statement, check.Source, detail));
            await Task.Delay(s_pause, cancellationToken);
        }

        return results;
    }
}

internal sealed record CheckDocument(
    string Address, int Status, int Passed, int Failed, int Skipped, IReadOnlyList<CheckedStatement> Results);

internal sealed record CheckedStatement(string Id, string Result, string Statement, string Source, string Detail);
