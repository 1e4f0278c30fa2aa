using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Soak;

/// <summary>The samples as an SVG: one panel for each figure, one curve in it for each engine, over time.</summary>
internal static class SoakPicture
{
    private const double Width = 720, PanelHeight = 130, Left = 70, Right = 90, Top = 30, Gap = 40;

    private static readonly (string Colour, string Dashes)[] s_strokes = [("#0a84d6", "none"), ("#d9730d", "8 4")];

    public static string Draw(IReadOnlyList<EngineResult> results)
    {
        (string Name, Func<Sample, double> Get)[] panels =
        [
            ("requests a second", static sample => sample.Rate), ("heap, garbage included, MiB", static sample => sample.HeapMiB),
            ("resident memory, MiB", static sample => sample.ResidentMiB), ("descriptors", static sample => sample.Descriptors),
        ];
        var svg = new StringBuilder();
        var height = Top + (panels.Length * (PanelHeight + Gap));
        svg.Append(CultureInfo.InvariantCulture, $"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {Width} {height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#808890\" role=\"img\">\n<title>A soak test over time</title>\n");
        var end = Math.Max(1, results.SelectMany(static result => result.Samples).Select(static sample => sample.Seconds).DefaultIfEmpty(1).Max());
        for (var i = 0; i < panels.Length; i++)
            DrawPanel(svg, results, panels[i], Top + (i * (PanelHeight + Gap)), end);
        return svg.Append("</svg>\n").ToString();
    }

    private static void DrawPanel(StringBuilder svg, IReadOnlyList<EngineResult> results, (string Name, Func<Sample, double> Get) panel, double top, double end)
    {
        var max = Math.Max(1, results.SelectMany(static result => result.Samples).Select(panel.Get).DefaultIfEmpty(1).Max());
        var bottom = top + PanelHeight;
        svg.Append(CultureInfo.InvariantCulture, $"<text x=\"{Left}\" y=\"{top - 8}\" font-weight=\"bold\">{panel.Name}</text>\n");
        foreach (var part in new[] { 0, 0.5, 1 })
        {
            var y = bottom - (part * PanelHeight);
            svg.Append(CultureInfo.InvariantCulture, $"<line x1=\"{Left}\" y1=\"{y:0.0}\" x2=\"{Width - Right}\" y2=\"{y:0.0}\" stroke=\"#808890\" stroke-opacity=\"0.3\"/>\n");
            svg.Append(CultureInfo.InvariantCulture, $"<text x=\"{Left - 8}\" y=\"{y + 4:0.0}\" text-anchor=\"end\">{max * part:#,0}</text>\n");
        }

        svg.Append(CultureInfo.InvariantCulture, $"<text x=\"{Width - Right}\" y=\"{bottom + 16}\" text-anchor=\"end\">{end:0} s</text>\n");
        for (var i = 0; i < results.Count; i++)
        {
            if (results[i].Samples.Count == 0)
                continue;
            var (colour, dashes) = s_strokes[i % s_strokes.Length];
            var points = results[i].Samples.Select(sample => string.Create(
                CultureInfo.InvariantCulture, $"{Left + (sample.Seconds / end * (Width - Left - Right)):0.0},{bottom - (panel.Get(sample) / max * PanelHeight):0.0}"));
            svg.Append(CultureInfo.InvariantCulture, $"<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\" points=\"{string.Join(' ', points)}\"/>\n");
            svg.Append(CultureInfo.InvariantCulture, $"<text x=\"{Width - Right + 8}\" y=\"{top + 14 + (i * 18)}\" fill=\"{colour}\">{results[i].Engine}</text>\n");
        }
    }
}
