using System.Runtime.CompilerServices;
using System.Threading.Channels;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.
builder.Services.AddSingleton<Newsroom>();
var app = builder.Build();

// A browser's EventSource, or curl -N, gets each headline when it is posted. A waiting request uses no thread and no
// buffer.
app.MapGet(
    "/news",
    (Newsroom newsroom, CancellationToken aborted) => TypedResults.ServerSentEvents(
        newsroom.ReadAsync(aborted), "headline"));

app.MapPost("/news", (string headline, Newsroom newsroom) => $"Sent to {newsroom.Publish(headline)} readers.\n");

app.Run();

internal sealed class Newsroom
{
    private readonly List<Channel<string>> _readers = [];

    public int Publish(string headline)
    {
        lock (_readers)
            return _readers.Count(reader => reader.Writer.TryWrite(headline));
    }

    public async IAsyncEnumerable<string> ReadAsync([EnumeratorCancellation] CancellationToken aborted)
    {
        var reader = Channel.CreateUnbounded<string>();
        reader.Writer.TryWrite("You are connected.");
        lock (_readers)
            _readers.Add(reader);
        try
        {
            await foreach (var headline in reader.Reader.ReadAllAsync(aborted))
                yield return headline;
        }
        finally
        {
            lock (_readers)
                _readers.Remove(reader);
        }
    }
}
