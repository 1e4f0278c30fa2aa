// Runs chosen tests of one test assembly again and again in one process, with one mutant of the library switched on at a time: mutate.py tells it which.
//   MutantWorker TEST-ASSEMBLY [MUTANT]
// It runs in the folder of the test assembly. Commands are lines of the standard input:
//   list               one line for each test: number, name
//   cover              one line for each test: number, milliseconds, 1 if it passed, and the mutants that it reaches
//   run MUTANT TESTS   the numbers of the tests, with commas between: "killed" and the number and name of the first that fails, or "survived"
// MUTANT as an argument is switched on before anything of the library runs; it is for those in static initializers.
using FastCgi.AspNetCore.MutantWorker;

var output = new StreamWriter(Console.OpenStandardOutput()) { AutoFlush = true };
Console.SetOut(TextWriter.Null);
Console.SetError(TextWriter.Null);

var control = MutantSwitch.Load(Path.Combine(AppContext.BaseDirectory, "FastCgi.AspNetCore.dll"));
control.Active = args.Length > 1 ? int.Parse(args[1]) : MutantSwitch.None;
var tests = TestAssembly.Load(args[0]);
output.WriteLine($"ready {tests.Count}");

while (Console.In.ReadLine() is { } line)
{
    var words = line.Split(' ');
    switch (words[0])
    {
        case "list":
            for (var i = 0; i < tests.Count; i++)
                output.WriteLine($"{i}\t{tests.NameOf(i)}");
            break;
        case "cover":
            for (var i = 0; i < tests.Count; i++)
                output.WriteLine(Cover(i));
            break;
        case "run":
            output.WriteLine(Run(int.Parse(words[1]), [.. words[2].Split(',').Select(int.Parse)]));
            break;
    }
    output.WriteLine("done");
}

string Cover(int test)
{
    control.StartRecording();
    var started = TimeProvider.System.GetTimestamp();
    var failed = tests.FindFailing([test]);
    var taken = TimeProvider.System.GetElapsedTime(started).TotalMilliseconds;
    var reached = control.StopRecording();
    // To record allocates and takes time, which fails some.
    var passed = failed is null || tests.FindFailing([test]) is null;
    return $"{test} {taken:0} {(passed ? 1 : 0)} {string.Join(',', reached)}";
}

string Run(int mutant, int[] chosen)
{
    var before = control.Active;
    control.Active = mutant;
    var failed = tests.FindFailing(chosen);
    control.Active = before;
    return failed is { } found ? $"killed {found} {tests.NameOf(found)}" : "survived";
}
