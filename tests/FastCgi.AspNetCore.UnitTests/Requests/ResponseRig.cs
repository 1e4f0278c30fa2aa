using System.Buffers.Binary;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Hosting.Server;
using ConnectionScope = FastCgi.AspNetCore.Streams.Guarded<FastCgi.AspNetCore.Streams.ConnectionState>.Scope;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>A connection with requests whose application is the test, which also ends the sends.</summary>
internal sealed class ResponseRig
{
    private ServerContext? _server;
    private FastCgiConnection? _connection;

    public delegate T Look<T>(ConnectionScope scope);

    public FastCgiServerOptions Options { get; } = new() { Limits = { MaxResponseBufferSize = null } };

    public long MaxDescriptors { get; set; } = int.MaxValue;

    public CollectedLogs Logs { get; } = new();

    public SentTransport Transport { get; } = new();

    public FastCgiConnection Connection => _connection ??= Connect();

    public RecordOutput Output => Connection.Output;

    public FastCgiRequest Request { get; private set; } = null!;

    public FastCgiResponse Response => Request.Response;

    /// <summary>The blocks that were not returned.</summary>
    public int RentedCount => _server!.Buffers.RentedCount;

    /// <summary>The bytes of all blocks but those left to the garbage collector.</summary>
    public long PooledBytes => _server!.Buffers.AllocatedBytes;

    public string Stdout => string.Concat(Transport.Records.Where(
        static record => record.Type == RecordBytes.Stdout).Select(static record => record.Text));

    public string Body => Stdout[(Stdout.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];

    public string Layout
        => string.Join(' ', Transport.Records.Select(static record => $"{record.Name}{record.Content.Length}"));

    /// <summary>A request arrives, and its application is about to be called.</summary>
    public FastCgiResponse Begin(int id = 1, string method = "GET", FastCgiRole role = FastCgiRole.Responder)
    {
        var parameters = RecordBytes.ParamsStream(id, RecordBytes.RequestParams(method));
        var ready = Receive([.. RecordBytes.Begin(id, (int)role), .. parameters, .. RecordBytes.StdinStream(id, [])]);
        Request = (FastCgiRequest)ready.RemoveFirst();
        Assert.True(Request.TryClaim());
        return Response;
    }

    /// <summary>The web server aborts a request. The record that ends it is queued.</summary>
    public void Abort(int id = 1) => Receive(RecordBytes.Abort(id));

    public void Complete(Exception? exception = null) => Request.Complete(exception);

    /// <summary>Queues a record of no response, and sends it unless a send is under way.</summary>
    public void Occupy()
    {
        using (var scope = Connection.EnterLock())
            Output.WriteEndRequest(scope, 99, default);
        Output.FlushNow();
    }

    public T Locked<T>(Look<T> look)
    {
        using var scope = Connection.EnterLock();
        return look(scope);
    }

    public ValueTask<FlushResult> WriteAsync(string text) => Response.Writer.WriteAsync(Encoding.Latin1.GetBytes(text));

    public Task<FlushResult> Write(int length) => Response.Writer.WriteAsync(new byte[length]).AsTask();

    public void Put(string text)
    {
        Encoding.Latin1.GetBytes(text).CopyTo(Response.Writer.GetSpan(text.Length));
        Response.Writer.Advance(text.Length);
    }

    /// <summary>A request whose params have arrived and that is waiting to be executed.</summary>
    public static FastCgiRequest CreateRequest(byte[] parameters, FastCgiServerOptions options)
    {
        var server = ServerContext.Create(options, new NoApplication(), NullLogger.Instance, new FakeClock());
        var connection = new FastCgiConnection(new ConnectionManager(server), new SentTransport());
        var start = new RequestStart(1, FastCgiRole.Responder, KeepConnection: true, 1, 0);
        var request = (FastCgiRequest)server.CreateStream(connection, start);
        using (var scope = connection.EnterLock())
        {
            request.AppendParameters(scope, parameters, isWhole: true);
            request.TryMakeReady(scope);
        }

        return request;
    }

    private ReadyRequests Receive(byte[] bytes)
    {
        var ready = default(ReadyRequests);
        Connection.OnReceived(bytes, ref ready);
        return ready;
    }

    private FastCgiConnection Connect()
    {
        Options.Roles.Add(FastCgiRole.Authorizer);
        _server = ServerContext.Create(
            Options,
            new NoApplication(),
            Logs.CreateLogger("test"),
            new FakeClock(),
            getMaxDescriptors: () => MaxDescriptors);
        var connection = new FastCgiConnection(new ConnectionManager(_server), Transport);
        Transport.Connection = connection;
        return connection;
    }

    public sealed record SentRecord(byte Type, int Id, byte[] Content)
    {
        public string Text => Encoding.Latin1.GetString(Content);

        public string Name => Type switch
        {
            RecordBytes.Stdout => "O",
            RecordBytes.Stderr => "E",
            RecordBytes.EndRequest => "End",
            _ => $"?{Type}:",
        };
    }

    /// <summary>Accepts sends, immediately or when the test allows it.</summary>
    public sealed class SentTransport : ConnectionTransport
    {
        public FastCgiConnection Connection { get; set; } = null!;

        public List<List<SentRecord>> Sends { get; } = [];

        public IEnumerable<SentRecord> Records => Sends.SelectMany(static send => send);

        public List<SentRecord> Last => Sends[^1];

        public List<int> Blocks { get; } = [];

        /// <summary>Whether a send does not complete until <see cref="Complete"/>.</summary>
        public bool Holds { get; set; }

        public int CloseCount { get; private set; }

        /// <summary>The sent bytes that the system still holds.</summary>
        public long? Undelivered { get; set; }

        public override string DescribePeer() => "a test";

        public override bool CanReset => true;

        public override long? UndeliveredLength => Undelivered;

        public override bool Send(BufferBlock chain)
        {
            Blocks.Clear();
            var bytes = new List<byte>();
            for (var block = chain; block is not null; block = block.Next)
            {
                Blocks.Add(block.Capacity);
                bytes.AddRange(block.UsedSpan);
            }

            Sends.Add([.. Parse([.. bytes])]);
            return !Holds;
        }

        public override void Close() => CloseCount++;

        public override void Run(ref ReadyRequests ready) => throw new NotSupportedException();

        public override void ResumeReceiving()
        {
        }

        public void Complete() => Connection.Output.OnSent();

        private static IEnumerable<SentRecord> Parse(byte[] bytes)
        {
            for (var start = 0; start < bytes.Length;)
            {
                var length = BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 4));
                Assert.Equal((1, 0), (bytes[start], bytes[start + 6]));
                yield return new(
                    bytes[start + 1],
                    BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 2)),
                    bytes[(start + 8)..(start + 8 + length)]);
                start += 8 + length;
            }
        }
    }

    internal sealed class NoApplication : IHttpApplication<IFeatureCollection>
    {
        public IFeatureCollection CreateContext(IFeatureCollection contextFeatures) => contextFeatures;

        public Task ProcessRequestAsync(IFeatureCollection context) => Task.CompletedTask;

        public void DisposeContext(IFeatureCollection context, Exception? exception)
        {
        }
    }
}
