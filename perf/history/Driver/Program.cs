using System.Diagnostics;
using System.Runtime.InteropServices;
using History.Driver;
using SideBySide.Driver;

// --site, --tools, --images, --machine, --results, --readme, --quick, --only NAME. See run.sh.
(Func<Section> Describe, Action<Bench, Section> Run)[] records =
[
    (LadderRecord.Describe, LadderRecord.Run), (SessionRecord.Describe, SessionRecord.Run),
    (ComparersRecord.Describe, ComparersRecord.Run),
        (NodeRecord.Describe, NodeRecord.Run),
    (SmallRecord.Describe, SmallRecord.Run), (HeldRecord.Describe, HeldRecord.Run),
    (SocketsRecord.Describe, SocketsRecord.Run),
];
var settings = Settings.Parse(args);
var sections = new List<Section>();
var clock = Stopwatch.StartNew();
foreach (var (describe, run) in records)
{
    var section = describe();
    if (settings.Only.Length > 0 && settings.Only != section.Name)
        continue;

    sections.Add(section);
    using var setup = new Setup(settings);
    using var term = PosixSignalRegistration.Create(PosixSignal.SIGTERM, _ => Stop(setup));
    using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, _ => Stop(setup));
    Bench.Log($"{section.Title}, after {clock.Elapsed.TotalSeconds:0} s");
    try
    {
        run(new Bench(settings, setup), section);
    }
    catch (Exception e)
    {
        // Continue with the other records.
        section.Failure = e.Message.ReplaceLineEndings(" ").Replace("|", "", StringComparison.Ordinal);
        Console.Error.WriteLine($"{section.Name}: {e}");
    }
}

if (sections.Count == 0)
{
    Console.Error.WriteLine($"There is no record \"{settings.Only}\": {string.Join(", ", records.Select(static record => record.Describe().Name))}.");
    return 2;
}

var text = ResultDocument.Make(settings, sections, clock.Elapsed);
Console.Write(text);
if (settings.Only.Length == 0)
{
    File.WriteAllText(args[Array.IndexOf(args, "--results") + 1], text);
    ResultDocument.Quote(args[Array.IndexOf(args, "--readme") + 1], settings, sections);
}

return sections.Exists(static section => section.Failure is not null) ? 1 : 0;

static void Stop(Setup setup)
{
    setup.Dispose();
    Environment.Exit(143);
}
