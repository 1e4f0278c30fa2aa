namespace FastCgi.AspNetCore.Requests;

/// <summary>The addresses of the client and of the front-end: REMOTE_ADDR and REMOTE_PORT, SERVER_ADDR and SERVER_PORT (RFC 3875, section 4.1).</summary>
internal sealed class RequestAddresses(RequestParameters parameters)
{
    public IPAddress? RemoteAddress { get; set; } = ParseAddress(parameters.GetVariable("REMOTE_ADDR"));
    public int RemotePort { get; set; } = ParsePort(parameters.GetVariable("REMOTE_PORT"));
    public IPAddress? LocalAddress { get; set; } = ParseAddress(parameters.GetVariable("SERVER_ADDR"));
    public int LocalPort { get; set; } = ParsePort(parameters.GetVariable("SERVER_PORT"));

    /// <summary>Null for a client of a Unix socket, for which nginx sends <c>unix:</c>.</summary>
    private static IPAddress? ParseAddress(string? text) => IPAddress.TryParse(text, out var address) ? address : null;

    private static int ParsePort(string? text)
        => ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var port) ? port : 0;
}
