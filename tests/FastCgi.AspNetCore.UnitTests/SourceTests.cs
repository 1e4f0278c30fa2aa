using System.Reflection;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Measures of the library's source that a reader relies on.</summary>
public sealed class SourceTests
{
    private const int MaxLines = 400;
    private const BindingFlags Declared = BindingFlags.DeclaredOnly | BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    private static readonly LoggerMessageAttribute[] s_logMessages =
        [.. typeof(FastCgiServerOptions).Assembly.GetTypes()
            .SelectMany(static type => type.GetMethods(Declared))
            .Select(static method => method.GetCustomAttribute<LoggerMessageAttribute>())
            .OfType<LoggerMessageAttribute>()];

    [Fact]
    public void Files_OfTheLibrary_AreShort()
    {
        var generated = $"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}";
        var files = Directory.EnumerateFiles(Repository.GetPath("src"), "*.cs", SearchOption.AllDirectories)
            .Where(file => !file.Contains(generated, StringComparison.Ordinal))
            .ToList();

        Assert.NotEmpty(files);
        Assert.DoesNotContain(files, static file => File.ReadLines(file).Count() > MaxLines);
    }

    /// <summary>What a thread, a callback or a timer throws must not end the process, so that they begin in one place.</summary>
    [Theory]
    [InlineData("new Thread(")]
    [InlineData("UserWorkItem(")]
    [InlineData(".CreateTimer(")]
    [InlineData("new Timer(")]
    [InlineData("Task.Run(")]
    [InlineData("Task.Factory")]
    [InlineData("async void")]
    public void Threads_CallbacksAndTimers_BeginInThreadRoot(string start)
    {
        var files = Directory.EnumerateFiles(Repository.GetPath("src/FastCgi.AspNetCore"), "*.cs", SearchOption.AllDirectories)
            .Where(static file => Path.GetFileName(file) != "ThreadRoot.cs" && !file.Contains("/obj/", StringComparison.Ordinal));

        Assert.DoesNotContain(files, file => File.ReadAllText(file).Contains(start, StringComparison.Ordinal));
    }

    [Fact]
    public void LogMessages_Ids_AreUniqueAndGiven()
    {
        Assert.NotEmpty(s_logMessages);
        Assert.DoesNotContain(s_logMessages, static message => message.EventId <= 0);
        Assert.Empty(s_logMessages.GroupBy(static message => message.EventId).Where(static group => group.Count() > 1).Select(static group => group.Key));
    }

    [Fact]
    public void LogMessages_All_AreInTheDocument()
    {
        var document = File.ReadAllText(Repository.GetPath("docs/diagnostics.md"));

        var missing = s_logMessages
            .Select(static message => $"| {message.EventId} | {message.EventName} | {message.Level} | ")
            .Where(row => !document.Contains(row, StringComparison.Ordinal));

        Assert.Empty(missing);
    }

    [Fact]
    public void LogMessages_Names_AreUniqueAndGiven()
    {
        Assert.DoesNotContain(s_logMessages, static message => string.IsNullOrEmpty(message.EventName));
        Assert.Empty(s_logMessages.GroupBy(static message => message.EventName).Where(static group => group.Count() > 1).Select(static group => group.Key));
    }
}
