using System.Text;

namespace FastCgi.AspNetCore.Testing;

/// <summary>A server that ends with the test: on disposal, or when the test process ends for any reason.</summary>
public sealed class ServerProcess : IAsyncDisposable
{
    // The server has its own process group. When the test process ends, the pipe on standard input closes, and the
    // group is killed. An ordinary user's search path lacks the folder of the web servers.
    private const string Guard =
        """
        PATH=$PATH:/usr/sbin
        exec 3<&0
        setsid "$@" 3<&- &
        server=$!
        {
            cat <&3
            kill -TERM -- "-$server" || kill -TERM "$server"
            waited=0
            while kill -0 -- "-$server" && [ "$waited" -lt 50 ]; do sleep 0.1; waited=$((waited + 1)); done
            kill -KILL -- "-$server"
        } >/dev/null 2>&1 &
        exec 3<&-
        wait "$server"
        """;

    // The guard kills the group after 5 s. On a busy machine, the system may then need ten seconds to free the memory.
    private static readonly TimeSpan s_slowStop = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan s_stopTimeout = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan s_outputTimeout = TimeSpan.FromSeconds(1);

    private readonly Process _process;
    private readonly StringBuilder _output = new();
    private int _endedStreams;

    private ServerProcess(Process process)
    {
        _process = process;
        process.OutputDataReceived += (_, line) => Append(line.Data);
        process.ErrorDataReceived += (_, line) => Append(line.Data);
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
    }

    /// <summary>Whether it has ended. If so, its output is complete, unless a child keeps the streams open.</summary>
    public bool HasExited
    {
        get
        {
            if (!_process.HasExited)
                return false;
            SpinWait.SpinUntil(() => Volatile.Read(ref _endedStreams) == 2, s_outputTimeout);
            return true;
        }
    }

    /// <summary>Its standard output and standard error.</summary>
    public string Output
    {
        get
        {
            lock (_output)
                return _output.ToString();
        }
    }

    /// <param name="folder">
    /// The current folder and the home of the process, so that it writes nowhere else. The default is those of the
    /// tests.
    /// </param>
    public static ServerProcess Start(string program, IEnumerable<string> arguments, string? folder = null)
    {
        Programs.Require(program);
        var startInfo = new ProcessStartInfo("sh", ["-c", Guard, "guard", program, .. arguments])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        if (folder is not null)
        {
            startInfo.WorkingDirectory = folder;
            startInfo.Environment["HOME"] = folder;
        }

        return new ServerProcess(Process.Start(startInfo)!);
    }

    /// <summary>Waits until its output contains a text. Fails if it ends before.</summary>
    public Task WaitForOutputAsync(string text, int times = 1) => Waiting.UntilAsync(
        () => Task.FromResult(Output.Split(text).Length > times),
        () => HasExited && Output.Split(text).Length <= times ? $"The process has ended: {Output}" : null,
        $"'{text}' in the output");

    /// <summary>Waits until it ends by itself and all its output has been read.</summary>
    /// <param name="timeout">The maximum time to wait. The default is infinite.</param>
    public async Task<int> WaitForExitAsync(TimeSpan? timeout = null)
    {
        await _process.WaitForExitAsync().WaitAsync(timeout ?? Timeout.InfiniteTimeSpan);
        return _process.ExitCode;
    }

    public async ValueTask DisposeAsync()
    {
        _process.StandardInput.Close();
        var exit = _process.WaitForExitAsync();
        string? threads = null;
        if (await Task.WhenAny(exit, Task.Delay(s_slowStop)) != exit)
            threads = DescribeThreads();
        try
        {
            await exit.WaitAsync(s_stopTimeout);
        }
        catch (TimeoutException)
        {
            throw new TimeoutException(
                $"The server does not end. Its threads {s_slowStop} after it was told to:\n{threads}\n{Output}");
        }

        _process.Dispose();
        Assert.DoesNotContain("InvariantException", Output);
    }

    /// <summary>The server's threads: name, state, and wait channel of each.</summary>
    private string DescribeThreads()
    {
        var servers = Directory.GetDirectories("/proc").Where(
            folder => Read(folder, "stat").Split(") ")[^1].Split(' ') is [_, var parent, ..]
                && parent == $"{_process.Id}");
        return string.Join('\n', servers
            .SelectMany(static server => Directory.GetDirectories(Path.Combine(server, "task")))
            .Select(static thread => string.Join(
                ' ', Read(thread, "comm").Trim(), Read(thread, "stat").Split(") ")[^1][..1], Read(thread, "wchan"))));
    }

    private static string Read(string folder, string file)
    {
        try
        {
            return File.ReadAllText(Path.Combine(folder, file));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return string.Empty;
        }
    }

    private void Append(string? line)
    {
        if (line is null)
        {
            Interlocked.Increment(ref _endedStreams);
            return;
        }

        lock (_output)
            _output.AppendLine(line);
    }
}
