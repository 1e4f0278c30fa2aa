namespace FastCgi.Tool.Tests;

/// <summary>
/// <c>fastcgi top</c> on a terminal, which <c>script</c> creates: its width, and its state after the command.
/// </summary>
public sealed partial class TopTerminalTests : IAsyncLifetime, IDisposable
{
    private const string HideCursor = "\e[?25l";
    private const string ShowCursor = "\e[?25h";
    private static readonly string s_tool = Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll");

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

    public void Dispose() => _script?.Dispose();

    [Theory, Values(80, 120)]
    public async Task InterruptKey_GivesTheCursorBack(int width)
    {
        Start(width, 24, "");
        await Waiting.UntilAsync(() => Text.Split("connections  ").Length > 2, "two pictures");

        await _script!.StandardInput.WriteAsync('\x03');
        await _script.StandardInput.FlushAsync();
        await WaitForEndAsync();

        Assert.Equal(0, _script.ExitCode);
        Assert.True(Text.LastIndexOf(ShowCursor, StringComparison.Ordinal)
            > Text.LastIndexOf(HideCursor, StringComparison.Ordinal));
        Assert.Contains("\e[1mAGE", Text);
        Assert.All(
            Control().Replace(Text, "").Split('\n', '\r'),
            line => Assert.InRange(line.TrimEnd().Length, 0, width));
    }

    [Fact]
    public async Task NoColor_Set_WritesNoColors()
    {
        Start(80, 24, "NO_COLOR=1");
        await Waiting.UntilAsync(() => Text.Contains("/fastcgi-status"), "the picture");

        Assert.DoesNotMatch("\e\\[[0-9;]*[39][0-7]m", Text);
    }

    [Fact]
    public async Task NoStatus_ShowsTheCursor()
    {
        Start(80, 24, "", "--path", "/nowhere-else");
        await WaitForEndAsync();

        Assert.NotEqual(0, _script!.ExitCode);
        Assert.True(Text.LastIndexOf(ShowCursor, StringComparison.Ordinal)
            >= Text.LastIndexOf(HideCursor, StringComparison.Ordinal));
    }

    [GeneratedRegex("\e\\[[0-9;?]*[A-Za-z]")]
    private static partial Regex Control();

    private void Start(int width, int height, string environment, params string[] arguments)
    {
        // The process that runs the tests may ignore SIGINT, and children inherit that.
        var command =
            $"stty cols {width} rows {height}; exec env --default-signal=INT "
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
