namespace FastCgi.AspNetCore.Soak;

/// <summary>Reports the results, and whether they are acceptable.</summary>
internal static class SoakReport
{
    // The allowed growth of the session store and the path tables, and the garbage collector's own memory.
    private const double HeapGrowth = 1.25, HeapAllowance = 8;

    // The engine's loops and threads may open a few late. A leak of one per connection or request would be thousands.
    private const int DescriptorAllowance = 16;

    public static void Print(IReadOnlyList<EngineResult> results, TimeSpan elapsed)
    {
        string[] rows =
        [
            "requests", "failed", "requests a second", "ids of a connection begun again", "heap before → after, MiB",
            "RSS before → after, MiB", "descriptors before → after", "buffers out → memory, MiB",
        ];
        Console.WriteLine($"| | {string.Join(" | ", results.Select(static result => result.Engine))} |");
        Console.WriteLine($"|---|{string.Concat(results.Select(static _ => "---|"))}");
        var columns = results.Select(Describe).ToList();
        for (var i = 0; i < rows.Length; i++)
            Console.WriteLine($"| {rows[i]} | {string.Join(" | ", columns.Select(column => column[i]))} |");
        Console.WriteLine();
        foreach (var result in results)
        {
            var kinds = result.Progress.Kinds.OrderBy(static kind => kind.Key)
                .Select(static kind => $"{kind.Value:N0} {kind.Key}");
            Console.WriteLine($"{result.Engine}: {string.Join(", ", kinds)}");
            foreach (var failure in result.Progress.Failures.Concat(FindFaults(result)))
                Console.WriteLine($"  {failure}");
        }

        Console.WriteLine($"{elapsed.TotalSeconds:F0} s in all.");
    }

    public static bool IsGood(EngineResult result) => result.Progress.Failed == 0 && !FindFaults(result).Any();

    private static string[] Describe(EngineResult result)
    {
        var (progress, before, after) = (result.Progress, result.Before, result.After);
        return
        [
            $"{progress.Total:N0}", $"{progress.Failed:N0}", $"{progress.Total / progress.Elapsed.TotalSeconds:N0}",
            $"{progress.Wraps:N0}",
            $"{before.HeapMiB:F1} → {after.HeapMiB:F1}",
            $"{before.ResidentMiB:F0} → {after.ResidentMiB:F0}", $"{before.Descriptors} → {after.Descriptors}",
            $"{after.RentedBuffers} → {after.BufferMiB:F1}",
        ];
    }

    private static IEnumerable<string> FindFaults(EngineResult result)
    {
        var (before, after) = (result.Before, result.After);
        if (result.Progress.Total == 0)
            yield return "Nothing was sent.";
        if (after.HeapMiB > (before.HeapMiB * HeapGrowth) + HeapAllowance)
            yield return "The heap has grown.";
        if (after.Descriptors > before.Descriptors + DescriptorAllowance)
            yield return "Descriptors are left open.";
        if (!after.IsIdle)
            yield return $"{after.RentedBuffers} buffers and {after.Connections} connections are left.";
        // The server's warnings and errors: the load gives no reason for any.
        if (result.ServerOutput.Trim() is { Length: > 0 } output)
            yield return $"The server says: {output[..Math.Min(output.Length, 2_000)]}";
    }
}
