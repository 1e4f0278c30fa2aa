using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>The content of BEGIN_REQUEST (FastCGI specification, section 5.1): role (16, BE), flags, five reserved bytes.</summary>
/// <param name="Role">The role as sent; may be a number the specification does not name.</param>
/// <param name="Flags">Bit 0 is FCGI_KEEP_CONN; the others are ignored.</param>
internal readonly record struct BeginRequestBody(ushort Role, byte Flags)
{
    /// <summary>Whether the web server keeps the connection after this request.</summary>
    public bool KeepConnection => (Flags & ProtocolConstants.KeepConnectionFlag) != 0;

    /// <summary>Reads the eight bytes of the body.</summary>
    public static BeginRequestBody Parse(ReadOnlySpan<byte> content) => new(BinaryPrimitives.ReadUInt16BigEndian(content), content[2]);
}
