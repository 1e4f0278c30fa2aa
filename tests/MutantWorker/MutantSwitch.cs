using System.Reflection;
using System.Runtime.Loader;

namespace FastCgi.AspNetCore.MutantWorker;

/// <summary>The class that Stryker compiles into the assembly that it mutates: which mutant is on, and which have been reached.</summary>
internal sealed class MutantSwitch
{
    /// <summary>No mutant is on.</summary>
    public const int None = -1;

    private readonly FieldInfo _active;
    private readonly FieldInfo _records;
    private readonly MethodInfo _take;

    private MutantSwitch(Type type)
    {
        _active = type.GetField("ActiveMutant")!;
        _records = type.GetField("CaptureCoverage")!;
        _take = type.GetMethod("GetCoverageData")!;
    }

    /// <summary>Loads the assembly, which Stryker has mutated.</summary>
    public static MutantSwitch Load(string path)
    {
        var assembly = AssemblyLoadContext.Default.LoadFromAssemblyPath(path);
        return new(assembly.GetTypes().Single(type => type.Name == "MutantControl"));
    }

    /// <summary>The number of the mutant that is on, or <see cref="None"/>.</summary>
    public int Active
    {
        get => (int)_active.GetValue(null)!;
        set => _active.SetValue(null, value);
    }

    /// <summary>From here on, mutants that are reached are recorded, and none is on.</summary>
    public void StartRecording()
    {
        _take.Invoke(null, null);
        _records.SetValue(null, true);
    }

    /// <summary>The mutants that were reached since.</summary>
    public int[] StopRecording()
    {
        _records.SetValue(null, false);
        var reached = (IList<int>[])_take.Invoke(null, null)!;
        return [.. reached[0].ToArray().Distinct()];
    }
}
