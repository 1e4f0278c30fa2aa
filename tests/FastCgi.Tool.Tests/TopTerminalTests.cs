namespace FastCgi.Tool.Tests;

/// <summary>
/// <c>fastcgi top</c> on a terminal, which <c>script</c> creates: its screen, its size, and its state after the
/// command.
/// </summary>
public sealed partial class TopTerminalTests : IAsyncLifetime, IDisposable
{
    private const string Enter = "\e[?1049h\e[?25l";
    private const string Leave = "\e[?25h\e[?1049l";
    private static readonly string s_tool = Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll");

    private readonly ScratchFolder _folder = new();
    private readonly StringBuilder _text = new();
    private SampleServer? _server;
    private Process? _script;
    private Task _reading = Task.CompletedTask;

    private string Text
    {
        get
        {
            lock (_text)
                return _text.ToString();
        }
    }

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync()
    {
        if (_script is { HasExited: false })
            _script.Kill(entireProcessTree: true);
        await _server!.DisposeAsync();
    }

    public void Dispose()
    {
        _script?.Dispose();
        _folder.Dispose();
    }

    [Theory, Values(80, 120)]
    public async Task InterruptKey_GivesTheScreenAndTheCursorBack(int width)
    {
        Start(width, 24, "");
        await Waiting.UntilAsync(() => Text.Split("\e[H").Length > 2, "two pictures");

        await _script!.StandardInput.WriteAsync('\x03');
        await _script.StandardInput.FlushAsync();
        await WaitForEndAsync();

        Assert.Equal(0, _script.ExitCode);
        Assert.Equal(2, Text.Split(Enter).Length);
        Assert.EndsWith(Leave, Text.TrimEnd(), StringComparison.Ordinal);
        Assert.Matches("\e\\[1m *AGE  STATE .*REQUEST\e\\[0m", Text);
        Assert.All(GetLines(), line => Assert.InRange(line.Length, 0, width));
        Assert.Equal(width >= 100, Text.Contains("  IN  ", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Terminal_Resized_NextPictureHasTheNewSize()
    {
        Start(120, 40, "");
        await Waiting.UntilAsync(() => Text.Contains("/fastcgi-status", StringComparison.Ordinal), "the picture");
        var terminal = (await File.ReadAllTextAsync(_folder.GetPath("terminal"))).Trim();

        using (var stty = Process.Start("stty", ["-F", terminal, "cols", "40", "rows", "6"]))
            await stty.WaitForExitAsync();

        // Of six lines, the last one stays free, and one says that there are more.
        await Waiting.UntilAsync(() => LinesMore().IsMatch(Text), "the smaller picture");
        var last = Text[Text.LastIndexOf("\e[H", StringComparison.Ordinal)..];
        Assert.Equal(5, last.Split('\n').Length - 1);
        Assert.All(GetLines(last), static line => Assert.InRange(line.Length, 0, 40));
    }

    [Fact]
    public async Task NoColor_Set_WritesNoColors()
    {
        Start(80, 24, "NO_COLOR=1");
        await Waiting.UntilAsync(() => Text.Contains("/fastcgi-status", StringComparison.Ordinal), "the picture");

        Assert.DoesNotMatch("\e\\[[0-9;]*m", Text);
    }

    [Fact]
    public async Task NoStatus_LeavesTheScreenAlone()
    {
        Start(80, 24, "", "--path", "/nowhere-else");
        await WaitForEndAsync();

        Assert.NotEqual(0, _script!.ExitCode);
        Assert.DoesNotContain("\e[?1049h", Text, StringComparison.Ordinal);
    }

    [GeneratedRegex("\e\\[[0-9;?]*[A-Za-z]")]
    private static partial Regex Control();

    [GeneratedRegex("… [0-9]+ more lines")]
    private static partial Regex LinesMore();

    private static IEnumerable<string> GetLines(string text)
        => Control().Replace(text, "").Split('\n').Select(static line => line.TrimEnd('\r'));

    private IEnumerable<string> GetLines() => GetLines(Text);

    private void Start(int width, int height, string environment, params string[] arguments)
    {
        // The process that runs the tests may ignore SIGINT, and children inherit that.
        var command =
            $"tty > '{_folder.GetPath("terminal")}'; stty cols {width} rows {height}; exec env --default-signal=INT "
                + $"TERM=xterm {environment} dotnet '{s_tool}' top '{_server!.Address}' {string.Join(' ', arguments)}";
        var start = new ProcessStartInfo("script", ["-qec", command, "/dev/null"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        start.Environment.Remove("NO_COLOR");
        _script = Process.Start(start)!;
        _reading = ReadAsync(_script.StandardOutput);
    }

    private async Task WaitForEndAsync()
    {
        await _script!.WaitForExitAsync().Within("the end");
        await _reading.Within("the rest of the output");
    }

    private async Task ReadAsync(StreamReader output)
    {
        var buffer = new char[4_096];
        while (await output.ReadAsync(buffer) is > 0 and var count)
        {
            lock (_text)
                _text.Append(buffer, 0, count);
        }
    }
}
