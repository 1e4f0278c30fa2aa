namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Measures of the source that a reader relies on.</summary>
public sealed partial class SourceTests
{
    private const int MaxLines = 400;
    private const int MaxColumns = 120;

    /// <summary>A reader of nested conditional expressions has to keep all conditions in mind.</summary>
    [Theory]
    [InlineData("src/FastCgi.Client")]
    [InlineData("src/FastCgi.Tool")]
    [InlineData("src/FastCgi.AspNetCore")]
    [InlineData("tests")]
    public void Files_AreShortAndNarrowAndConditionalsAreNotNested(string folder)
    {
        var sources = FindSources(folder);
        Assert.DoesNotContain(sources, static file => File.ReadLines(file).Count() > MaxLines);
        Assert.DoesNotContain(sources, static file => HasNestedConditional(File.ReadAllText(file)));
        Assert.Empty(sources.SelectMany(static file => File.ReadLines(file)
            .Select((line, index) => (Line: line, Place: $"{file}:{index + 1}"))
            .Where(static line => line.Line.Length > MaxColumns)
            .Select(static line => line.Place)));
    }

    /// <summary>An exception on a thread, in a callback or in a timer must not end the process.</summary>
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
        var files = Directory.EnumerateFiles(
            Repository.GetPath("src/FastCgi.AspNetCore"), "*.cs", SearchOption.AllDirectories)
            .Where(file => !file.Contains("/obj/")
                && Path.GetFileName(file) is var name && name != "ThreadRoot.cs"
                // A clock, which provides timers to its callers.
                && !(name == "ServerClock.cs" && start == ".CreateTimer("));

        Assert.DoesNotContain(files, file => File.ReadAllText(file).Contains(start));
    }

    /// <summary>A thread that the application has interrupted must not lose what the lock protects.</summary>
    [Fact]
    public void Locks_AreEnteredWithAcquire()
        => Assert.DoesNotContain(
            FindSources("src/FastCgi.AspNetCore"),
            static file => File.ReadAllText(file).Contains(" lock (", StringComparison.Ordinal));

    /// <summary>
    /// On a thread that the application has interrupted, their locks throw, and a connection would not start or end.
    /// </summary>
    [Theory]
    [InlineData("System.Collections.Concurrent", "LazyRequestState.cs")]
    [InlineData("ArrayPool<", "ResponseStaging.cs", "FastCgiResponse.SendFile.cs", "ConnectionManager.cs")]
    public void CollectionsWithLocks_AreUsedOnlyInCallsOfTheApplicationAndOnTheClock(string use, params string[] files)
        => Assert.Empty(
            FindSources("src/FastCgi.AspNetCore")
                .Where(file => File.ReadAllText(file).Contains(use))
                .Select(Path.GetFileName)
                .Except(files));

    [Fact]
    public void LogMessages_IdsAndNames_AreUniqueAndGiven()
    {
        var ids = LogMessages.All.Select(static message => message.Attribute.EventId).ToList();

        Assert.NotEmpty(ids);
        Assert.All(ids, static id => Assert.True(id > 0));
        Assert.Equal(ids.Distinct(), ids);
        Assert.All(LogMessages.All, static message => Assert.Null(message.Attribute.EventName));
        Assert.Equal(ids.Count, LogMessages.All.Select(static message => message.Name).Distinct().Count());
    }

    private static List<string> FindSources(string folder)
    {
        var files = Directory.EnumerateFiles(Repository.GetPath(folder), "*.cs", SearchOption.AllDirectories)
            .Where(static file => !file.Contains("/obj/"))
            .ToList();
        Assert.NotEmpty(files);
        return files;
    }

    /// <summary>Whether there are two question marks of conditional expressions between the same brackets.</summary>
    private static bool HasNestedConditional(string text)
    {
        var open = new Stack<bool>([false]);
        foreach (Match match in Mark().Matches(TextOrComment().Replace(text, "\"\"")))
        {
            switch (match.Value)
            {
                case "(" or "[" or "{":
                    open.Push(false);
                    break;
                case ")" or "]" or "}":
                    open.Pop();
                    break;
                case "?" when open.Peek():
                    return true;
                default:
                    open.Pop();
                    open.Push(match.Value == "?");
                    break;
            }
        }

        return false;
    }

    [GeneratedRegex(@"[(\[{)\]};,]|(?<=\s)\?(?=\s)")]
    private static partial Regex Mark();

    [GeneratedRegex(@"""""""[\s\S]*?""""""|\$*""(?:\\.|[^""\\\n])*""|'(?:\\.|[^'\\\n])+'|//[^\n]*")]
    private static partial Regex TextOrComment();
}
