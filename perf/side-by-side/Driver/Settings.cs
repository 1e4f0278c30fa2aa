using System.Globalization;

namespace SideBySide.Driver;

/// <summary>What the command line says.</summary>
/// <param name="Tools">The folder with the compiled programs.</param>
/// <param name="Site">The folder with the published site.</param>
/// <param name="Rounds">How often each figure is measured; the table has the medians.</param>
/// <param name="Seconds">The length of a measurement.</param>
/// <param name="ServerCores">The processors of the servers and nginx, as taskset takes them.</param>
/// <param name="LoadCores">The processors of the load generators.</param>
/// <param name="Only">A regular expression of the titles to run; all if empty.</param>
internal sealed record Settings(
    string Tools, string Site, int Rounds, double Seconds, string ServerCores, string LoadCores, string Only)
{
    public static Settings Parse(string[] arguments)
    {
        string Get(string name, string other)
        {
            var at = Array.IndexOf(arguments, "--" + name);
            return at >= 0 && at + 1 < arguments.Length ? arguments[at + 1] : other;
        }

        var all = $"0-{Environment.ProcessorCount - 1}";
        return new Settings(
            Get("tools", "."),
            Get("site", "."),
            int.Parse(Get("rounds", "3"), CultureInfo.InvariantCulture),
            double.Parse(Get("seconds", "2"), CultureInfo.InvariantCulture),
            Get("server-cores", all),
            Get("load-cores", all),
            Get("only", ""));
    }
}
