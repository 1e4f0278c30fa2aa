using System.Globalization;
using System.Security;
using System.Text;

namespace SideBySide.Driver;

/// <summary>
/// Curves as an SVG, both axes logarithmic. There is no background; all colors are visible on white and on black.
/// </summary>
internal sealed class Picture(string title, string horizontal, string vertical)
{
    private const double Width = 720, Height = 420, Left = 64, Right = 180, Top = 44, Bottom = 56, LabelHeight = 16;
    private const string Grey = "#808890";

    // Colors that color-blind readers can distinguish; the dashes differ as well.
    private static readonly (string Color, string Dashes)[] s_strokes =
    [
        ("#0a84d6", "none"), ("#d9730d", "8 4"), ("#8a8f98", "2 4"),
    ];

    private readonly StringBuilder _svg = new();
    private double _x0, _x1, _y0, _y1;

    /// <summary>Draws the curves and writes the file. Without curves, there is no file.</summary>
    /// <returns>The Markdown line that shows it in a document next to the folder.</returns>
    public string Write(string file, IEnumerable<(string Name, IReadOnlyList<(double X, double Y)> Points)> curves)
    {
        // After a quick run, some curves have at most one point.
        var all = curves.Where(static curve => curve.Points.Count > 1).ToArray();
        if (all.Length == 0)
            return "";

        var points = all.SelectMany(static curve => curve.Points).ToArray();
        (_x0, _x1) = (points.Min(static point => point.X), points.Max(static point => point.X));
        (_y0, _y1) = (Floor(points.Min(static point => point.Y)), Ceiling(points.Max(static point => point.Y)));
        _svg.Append(CultureInfo.InvariantCulture,
            $"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {Width} {Height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"{Grey}\" role=\"img\">\n");
        _svg.Append(CultureInfo.InvariantCulture, $"<title>{Escape(title)}</title>\n");
        Text(Left, 20, title, "start", "font-weight=\"bold\" ");
        Text((Left + Width - Right) / 2, Height - 12, horizontal, "middle");
        Text(Left, 36, vertical, "start");
        DrawGrid();
        var labels = PlaceLabels([.. all.Select(curve => Y(curve.Points[^1].Y))]);
        for (var i = 0; i < all.Length; i++)
            DrawCurve(all[i].Name, all[i].Points, s_strokes[i % s_strokes.Length], labels[i]);
        var folder = Directory.CreateDirectory(Path.GetDirectoryName(Path.GetFullPath(file))!);
        File.WriteAllText(file, _svg.Append("</svg>\n").ToString());
        return $"![{vertical}: {title}]({folder.Name}/{Path.GetFileName(file)})\n\n";
    }

    private void DrawGrid()
    {
        foreach (var tick in Ticks(_x0, _x1, _x1 / _x0 > 100 ? [1] : [1, 2, 5]))
        {
            Line(X(tick), Top, X(tick), Height - Bottom);
            Text(X(tick), Height - Bottom + 18, tick.ToString("#,0.#", CultureInfo.InvariantCulture), "middle");
        }

        foreach (var tick in Ticks(_y0, _y1, _y1 / _y0 > 1_000 ? [1] : [1, 2, 5]))
        {
            Line(Left, Y(tick), Width - Right, Y(tick));
            Text(Left - 8, Y(tick) + 4, tick.ToString("#,0.#", CultureInfo.InvariantCulture), "end");
        }
    }

    private void DrawCurve(
        string name, IReadOnlyList<(double X, double Y)> points, (string Color, string Dashes) stroke, double label)
    {
        _svg.Append(CultureInfo.InvariantCulture,
            $"<polyline fill=\"none\" stroke=\"{stroke.Color}\" stroke-width=\"2.5\" stroke-dasharray=\"{stroke.Dashes}\" points=\"{string.Join(' ', points.Select(Place))}\"/>\n");
        foreach (var (x, y) in points)
            _svg.Append(
                CultureInfo.InvariantCulture,
                $"<circle cx=\"{X(x):0.0}\" cy=\"{Y(y):0.0}\" r=\"3.5\" fill=\"{stroke.Color}\"/>\n");
        Text(X(points[^1].X) + 10, label + 4, name, "start", $"fill=\"{stroke.Color}\" ");
    }

    /// <summary>Moves overlapping labels down.</summary>
    private static double[] PlaceLabels(double[] heights)
    {
        var order = Enumerable.Range(0, heights.Length).OrderBy(i => heights[i]).ToArray();
        for (var i = 1; i < order.Length; i++)
            heights[order[i]] = Math.Max(heights[order[i]], heights[order[i - 1]] + LabelHeight);
        return heights;
    }

    private string Place((double X, double Y) point)
        => string.Create(CultureInfo.InvariantCulture, $"{X(point.X):0.0},{Y(point.Y):0.0}");

    private void Line(double x1, double y1, double x2, double y2) => _svg.Append(CultureInfo.InvariantCulture,
        $"<path d=\"M{x1:0.0} {y1:0.0}L{x2:0.0} {y2:0.0}\" stroke=\"{Grey}\" stroke-opacity=\"0.35\"/>\n");

    private void Text(double x, double y, string text, string anchor, string attributes = "") => _svg.Append(
        CultureInfo.InvariantCulture,
            $"<text x=\"{x:0.0}\" y=\"{y:0.0}\" {attributes}text-anchor=\"{anchor}\">{Escape(text)}</text>\n");

    private double X(double value) => Left + (Width - Left - Right) * Math.Log(value / _x0) / Math.Log(_x1 / _x0);

    private double Y(double value)
        => Height - Bottom - (Height - Top - Bottom) * Math.Log(value / _y0) / Math.Log(_y1 / _y0);

    private static double Floor(double value) => Ticks(value / 10, value, [1, 2, 5]).Last();

    private static double Ceiling(double value) => Ticks(value, value * 10, [1, 2, 5]).First();

    private static IEnumerable<double> Ticks(double from, double to, double[] steps)
    {
        for (var power = Math.Floor(Math.Log10(from)); power <= Math.Log10(to); power++)
        {
            foreach (var step in steps)
            {
                var tick = step * Math.Pow(10, power);
                if (tick >= from * 0.999 && tick <= to * 1.001)
                    yield return tick;
            }
        }
    }

    private static string Escape(string text) => SecurityElement.Escape(text);
}
