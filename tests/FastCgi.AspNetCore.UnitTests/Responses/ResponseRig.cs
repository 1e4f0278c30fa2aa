using System.Buffers.Binary;
using System.Text;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>A response with an outlet of its own, what it has sent, and no request.</summary>
internal sealed class ResponseRig : IDisposable
{
    public const ushort Id = 3;

    private readonly BufferPool _pool = new();

    public ResponseRig()
    {
        Outlet = new RecordOutput(_pool);
        Transport = new SentTransport(Outlet);
        Outlet.Attach(Transport);
        Response = new FastCgiResponse(Owner);
    }

    public ResponseOwnerStub Owner { get; } = new();

    public RecordOutput Outlet { get; }

    public SentTransport Transport { get; }

    public FastCgiResponse Response { get; }

    public IHttpResponseFeature Feature => Response;

    /// <summary>The blocks that were not given back.</summary>
    public int RentedCount => _pool.RentedCount;

    /// <summary>What was sent as STDOUT.</summary>
    public string Stdout => string.Concat(Transport.Records.Where(static record => record.Type == RecordBytes.Stdout).Select(static record => record.Text));

    /// <summary>The body in it.</summary>
    public string Body => Stdout[(Stdout.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];

    /// <summary>The records so far, by their types, with the lengths of their contents.</summary>
    public string Layout => string.Join(' ', Transport.Records.Select(static record => $"{Name(record.Type)}{record.Text.Length}"));

    public void Begin(ResponseSettings? settings = null, bool isHead = false, bool isAuthorizer = false)
        => Response.Begin(Outlet, Id, settings ?? new ResponseSettings(), isHead, isAuthorizer);

    /// <summary>The request is over; the object may serve another.</summary>
    public void Close()
    {
        using (Response.Output.EnterLock())
            Response.Close();
        Transport.Records.Clear();
        Owner.Told.Clear();
    }

    /// <summary>The request is aborted.</summary>
    public void Drop()
    {
        using (Outlet.EnterLock())
            Response.Output.Drop();
    }

    public ValueTask<System.IO.Pipelines.FlushResult> WriteAsync(string text) => Response.Writer.WriteAsync(Encoding.ASCII.GetBytes(text));

    public ValueTask<System.IO.Pipelines.FlushResult> WriteAsync(int length) => Response.Writer.WriteAsync(new byte[length]);

    /// <summary>Writes without a flush.</summary>
    public void Put(string text)
    {
        Encoding.ASCII.GetBytes(text).CopyTo(Response.Writer.GetSpan(text.Length));
        Response.Writer.Advance(text.Length);
    }

    public void Dispose() => _pool.Dispose();

    private static string Name(byte type) => type switch
    {
        RecordBytes.Stdout => "O",
        RecordBytes.Stderr => "E",
        RecordBytes.EndRequest => "End",
        RecordBytes.AbortRequest => "Abort",
        RecordBytes.GetValuesResult => "Farewell",
        _ => $"?{type}:",
    };

    /// <summary>Looks after held flushes until the test says so.</summary>
    public sealed class Deadlines : CorkDeadlines
    {
        public int Count { get; private set; }

        public override bool TryAdd(ResponseOutput response, int generation)
        {
            Count++;
            return true;
        }
    }

    /// <summary>A record as it was sent.</summary>
    public sealed record SentRecord(byte Type, int Id, byte[] Content)
    {
        public string Text => Encoding.Latin1.GetString(Content);
    }

    /// <summary>Takes what is sent, at once or when the test says so.</summary>
    public sealed class SentTransport(RecordOutput output) : OutputTransport
    {
        public List<SentRecord> Records { get; } = [];

        public int SendCount { get; private set; }

        /// <summary>The sizes of the blocks of the last send.</summary>
        public List<int> Blocks { get; } = [];

        /// <summary>Whether a send is not over until <see cref="Complete"/>.</summary>
        public bool Holds { get; set; }

        /// <summary>Called with each send.</summary>
        public Action? OnSend { get; set; }

        public override bool Send(BufferBlock chain)
        {
            OnSend?.Invoke();
            SendCount++;
            Blocks.Clear();
            var bytes = new List<byte>();
            for (var block = chain; block is not null; block = block.Next)
            {
                Blocks.Add(block.Capacity);
                bytes.AddRange(block.UsedSpan);
            }

            Parse([.. bytes]);
            return !Holds;
        }

        public override void Close()
        {
        }

        /// <summary>The send that is under way is over.</summary>
        public void Complete() => output.OnSent();

        private void Parse(byte[] bytes)
        {
            for (var start = 0; start < bytes.Length;)
            {
                var length = BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 4));
                Assert.Equal((1, 0), (bytes[start], bytes[start + 6]));
                Records.Add(new(bytes[start + 1], BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 2)), bytes[(start + 8)..(start + 8 + length)]));
                start += 8 + length;
            }
        }
    }
}
