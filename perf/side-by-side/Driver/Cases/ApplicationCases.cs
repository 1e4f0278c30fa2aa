namespace SideBySide.Driver.Cases;

/// <summary>
/// Typical applications behind nginx: those from the templates, with their default settings, and one with common
/// middleware.
/// </summary>
internal static class ApplicationCases
{
    private const string Through = "through nginx, unix socket, 30 connections";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var (template, path) in new[] { ("webapi", "/weatherforecast"), ("mvc", "/Home/Privacy"), ("razor", "/Privacy") })
        {
            var site = new SitePair(
                setup, (at, isFastCgi) => setup.StartPackaged(template, at, isFastCgi), setup.NewUnix);
            yield return site.Compare($"template {template}, default logging, {path}, {Through}", path, 30,
                targets: template == "webapi" ? [SitePair.Backend("template webapi, default logging, through nginx, backend, relative to Kestrel", Bound.AtMost(0.35))] : []);
            setup.StopAll();
        }

        string[] mvc = ["--middleware", "mvc"];
        var form = new SitePair(
            setup,
            (at, isFastCgi) => isFastCgi ? setup.StartFastCgi(at, mvc) : setup.StartKestrel(at, mvc),
            setup.NewUnix);
        yield return form.Compare($"an MVC page with layout, session and antiforgery, {Through}", "/form", 30, targets:
            [SitePair.Backend("MVC page with layout, session and antiforgery, backend, relative to Kestrel", Bound.AtMost(0.6))]);
        setup.StopAll();

        string[] options = ["--middleware", "common"];
        var common = new SitePair(
            setup,
            (at, isFastCgi) => isFastCgi ? setup.StartFastCgi(at, options) : setup.StartKestrel(at, options),
            setup.NewUnix);
        yield return common.Compare(
            $"a page with authentication, session, static files and compression, {Through}", "/page", 30);
        yield return common.Compare($"the same page from the output cache, {Through}", "/cached", 30);
        setup.StopAll();
    }
}
