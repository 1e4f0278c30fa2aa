using System.Globalization;
using System.Security;
using System.Text;

namespace History.Driver;

/// <summary>
/// Horizontal bars as an SVG: ours in one color, others in another, published figures in gray. The background is
/// transparent.
/// </summary>
internal static class BarPicture
{
    private const double Width = 840, Left = 400, Right = 90, Top = 48, Step = 22;

    public enum Kind
    {
        Ours,
        Other,
        Published,
    }

    /// <summary>Writes the file.</summary>
    /// <returns>The Markdown line that shows it in a document next to the folder.</returns>
    public static string Write(
        string file, string title, string unit, IEnumerable<(string Name, double Value, Kind Kind)> bars)
    {
        var all = bars.Where(static bar => double.IsFinite(bar.Value)).ToArray();
        var height = Top + (all.Length * Step) + 8;
        var svg = new StringBuilder();
        svg.Append(CultureInfo.InvariantCulture,
            $"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {Width} {height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#808890\" " +
            $"role=\"img\">\n");
        svg.Append(
            CultureInfo.InvariantCulture,
            $"<title>{Escape(title)}</title>\n<text x=\"8\" y=\"20\" font-weight=\"bold\">{Escape(title)}</text>\n");
        svg.Append(CultureInfo.InvariantCulture, $"<text x=\"8\" y=\"38\">{Escape(unit)}</text>\n");
        var scale = (Width - Left - Right) / all.Max(static bar => bar.Value);
        for (var i = 0; i < all.Length; i++)
        {
            var (name, value, kind) = all[i];
            var y = Top + (i * Step);
            var color = kind switch { Kind.Ours => "#0a84d6", Kind.Other => "#d9730d", _ => "#8a8f98" };
            svg.Append(
                CultureInfo.InvariantCulture,
                $"<text x=\"{Left - 8:0}\" y=\"{y + 14:0}\" text-anchor=\"end\">{Escape(name)}</text>\n");
            svg.Append(CultureInfo.InvariantCulture, $"<rect x=\"{Left:0}\" y=\"{y + 2:0}\" width=\"{Math.Max(1, value * scale):0.0}\" height=\"16\" " +
                $"fill=\"{color}\"/>\n");
            svg.Append(
                CultureInfo.InvariantCulture,
                $"<text x=\"{Left + (value * scale) + 6:0.0}\" y=\"{y + 14:0}\">{Figures.Number(value)}</text>\n");
        }

        Directory.CreateDirectory(Path.GetDirectoryName(file)!);
        File.WriteAllText(file, svg.Append("</svg>\n").ToString());
        return $"![{title}, {unit}](images/{Path.GetFileName(file)})";
    }

    private static string Escape(string text) => SecurityElement.Escape(text);
}
