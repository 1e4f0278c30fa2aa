using System.Text.RegularExpressions;
using SideBySide.Driver;
using SideBySide.Driver.Cases;

var settings = Settings.Parse(args);
using var setup = new Setup(settings);
IEnumerable<Comparison>[] groups =
    [DirectCases.Make(setup), NginxCases.Make(setup), SlowHandlerCases.Make(setup), WaitingCases.Make(setup)];
foreach (var comparison in groups.SelectMany(static group => group))
{
    if (Regex.IsMatch(comparison.Title, settings.Only))
        Console.Write(comparison.Run(settings.Rounds));
}

if (Regex.IsMatch(CostNotes.Title, settings.Only))
    Console.Write(CostNotes.Make(setup));
