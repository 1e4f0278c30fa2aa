using SideBySide.Driver;
using SideBySide.Driver.Cases;
using SideBySide.Driver.Startup;

var settings = Settings.Parse(args);
using var setup = new Setup(settings);
var report = new Report();
if (settings.IsStartup)
    StartupSuite.Run(setup, report);
else
    SideBySideSuite.Run(setup, report);
Console.Write(report.Format(settings));
