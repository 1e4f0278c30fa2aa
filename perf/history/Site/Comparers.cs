using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace History.Site;

/// <summary>The cost of looking up a request header, for each comparer of names.</summary>
internal static class Comparers
{
    private const int Entries = 100_000;

    private static readonly string[] s_names =
        [
            "User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Cookie", "Referer", "Cache-Control",
            "X-Requested-With", "Host",
        ];

    private static readonly (string Name, StringComparer Comparer)[] s_comparers =
    [
        ("culture (en-US)", StringComparer.Create(CultureInfo.GetCultureInfo("en-US"), ignoreCase: false)),
        ("culture (en-US), ignore case", StringComparer.Create(CultureInfo.GetCultureInfo("en-US"), ignoreCase: true)),
        ("ordinal", StringComparer.Ordinal),
        ("ordinal, ignore case", StringComparer.OrdinalIgnoreCase),
    ];

    /// <summary>Measures all comparers, with the headers of this request, which the load generator sends.</summary>
    /// <returns>
    /// Lines of: name; ms for 100,000 entries added and read; ns to fill a dictionary with the headers; ns for the
    /// look-up of one.
    /// </returns>
    public static string Measure(IHeaderDictionary own, string server)
    {
        // Before the enumeration, which creates all strings.
        var received = Best(s_names, header => own[header].Count);
        var lines = new StringBuilder();
        foreach (var (name, comparer) in s_comparers)
        {
            var headers = new Dictionary<string, string>(comparer);
            foreach (var header in s_names)
                headers.Add(header, own[header].ToString());
            lines.Append(CultureInfo.InvariantCulture, $"Dictionary, " +
                $"{name};{AddAndRead(comparer):0.0};{Fill(headers, comparer):0};{Best(s_names, header => headers[header].Length):0.0}\n");
        }

        lines.Append(CultureInfo.InvariantCulture, $"{server}, request.Headers;;;{received:0.0}\n");
        _ = own.Keys.Count;
        lines.Append(
            CultureInfo.InvariantCulture,
            $"{server}, after all were enumerated;;;{Best(s_names, header => own[header].Count):0.0}\n");
        return lines.ToString();
    }

    private static double Fill(Dictionary<string, string> headers, StringComparer comparer)
    {
        var best = double.MaxValue;
        for (var round = 0; round < 30; round++)
        {
            var clock = Stopwatch.StartNew();
            for (var i = 0; i < 2_000; i++)
            {
                var copy = new Dictionary<string, string>(headers.Count, comparer);
                foreach (var (name, value) in headers)
                    copy.Add(name, value);
            }

            best = Math.Min(best, clock.Elapsed.TotalNanoseconds / 2_000);
        }

        return best;
    }

    /// <summary>The experiment of the record.</summary>
    private static double AddAndRead(StringComparer comparer)
    {
        var keys = Enumerable.Range(0, Entries).Select(static i => $"key-{i}").ToArray();
        var best = double.MaxValue;
        for (var round = 0; round < 3; round++)
        {
            var clock = Stopwatch.StartNew();
            var dictionary = new Dictionary<string, int>(comparer);
            foreach (var key in keys)
                dictionary.Add(key, 1);
            var sum = 0;
            foreach (var key in keys)
                sum += dictionary[key];
            best = Math.Min(best, clock.Elapsed.TotalMilliseconds);
            if (sum != Entries)
                throw new InvalidOperationException("Entries are missing.");
        }

        return best;
    }

    /// <summary>
    /// The best round in two seconds, during which the runtime compiles the code. The name is not the same string
    /// object as in the dictionary, as in a handler.
    /// </summary>
    private static double Best(string[] names, Func<string, int> read)
    {
        var asked = names.Select(static name => new string(name.AsSpan())).ToArray();
        var best = double.MaxValue;
        var sum = 0L;
        for (var start = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(2);)
        {
            var clock = Stopwatch.StartNew();
            for (var i = 0; i < 2_000; i++)
            {
                foreach (var name in asked)
                    sum += read(name);
            }

            best = Math.Min(best, clock.Elapsed.TotalNanoseconds / (2_000.0 * asked.Length));
        }

        return sum > 0 ? best : throw new InvalidOperationException("Headers are missing.");
    }
}
