namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// The example in <c>docs/migration.md</c>, copied line by line: each template, behind nginx and Apache, over HTTP and
/// HTTPS.
/// </summary>
public sealed class FirstHourTests
{
    private static readonly string[] s_blocks =
    [
        "first application", "first socket", "first certificate", "first nginx", "first apache", "first request",
    ];

    private static readonly string[] s_templates =
        [
            "mvc=/Home/Privacy=Privacy Policy", "webapi=/weatherforecast=temperatureC", "razor=/Privacy=Privacy Policy",
            "blazor=/weather=Summary",
        ];

    [MachineFact]
    public async Task Example_Copied_EachTemplateAnswersTheFirstRequest()
    {
        using var folder = new ScratchFolder();
        await ReadmeTests.CopySourceAsync(folder.Path);
        // The clone may be in a folder that the script mounts over.
        var script = folder.GetPath("first-hour.sh");
        File.Copy(Path.Combine(AppContext.BaseDirectory, "first-hour.sh"), script);
        foreach (var block in s_blocks)
            await File.WriteAllTextAsync(folder.GetPath(block), await DocumentBlock.ReadAsync("migration.md", block));

        var (exitCode, output) = await ReadmeTests.RunAsync(
            ["--mount-proc", "--pid", "--fork", "--kill-child", script, folder.Path, .. s_templates]);

        Assert.True(exitCode == 0, output);
        foreach (var (template, path) in s_templates.Select(static row => row.Split('='))
            .Select(static row => (row[0], row[1])))
        {
            // A request over http ends at https, because each template calls UseHttpsRedirection.
            foreach (var request in new[] { "nginx http", "nginx https", "apache http", "apache https" })
                Assert.Contains($"{template} {request}: 200 https://localhost{path}\n", output);
        }

        Assert.Contains("\n200 https://localhost/Home/Privacy\n", output);
        Assert.DoesNotMatch(@"warn: FastCgi|[[:](error|crit|alert|emerg)\]", output);
    }
}
