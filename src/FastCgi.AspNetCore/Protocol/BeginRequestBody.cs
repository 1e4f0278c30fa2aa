using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>The content of BEGIN_REQUEST (section 5.1): role (16, BE), flags, five reserved bytes.</summary>
/// <param name="Role">The role; may be a number that the specification does not define.</param>
/// <param name="Flags">Bit 0 is FCGI_KEEP_CONN; the others are ignored.</param>
internal readonly record struct BeginRequestBody(ushort Role, byte Flags)
{
    public bool KeepConnection => (Flags & ProtocolConstants.KeepConnectionFlag) != 0;

    public static BeginRequestBody Parse(ReadOnlySpan<byte> content)
        => new(BinaryPrimitives.ReadUInt16BigEndian(content), content[2]);
}
