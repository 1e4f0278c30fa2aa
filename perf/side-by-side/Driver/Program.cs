using SideBySide.Driver;
using SideBySide.Driver.Cases;

var settings = Settings.Parse(args);
using var setup = new Setup(settings);
IEnumerable<Comparison>[] groups =
    [DirectCases.Make(setup), NginxCases.Make(setup), SlowHandlerCases.Make(setup), WaitingCases.Make(setup)];
foreach (var comparison in groups.SelectMany(static group => group))
{
    if (comparison.Title.Contains(settings.Only, StringComparison.Ordinal))
        Console.Write(comparison.Run(settings.Rounds));
}

if (settings.Only.Length == 0 || settings.Only == "cost")
    Console.Write(CostNotes.Make(setup));
