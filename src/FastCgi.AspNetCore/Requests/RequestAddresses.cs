using System.Globalization;
using System.Net;
using FastCgi.AspNetCore.Cgi;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Who talks to the front-end, and where it was reached: REMOTE_ADDR and REMOTE_PORT, SERVER_ADDR and SERVER_PORT (RFC 3875,
/// section 4.1). Made when first asked for.
/// </summary>
internal sealed class RequestAddresses(RequestParameters parameters)
{
    public IPAddress? RemoteAddress { get; set; } = ParseAddress(parameters.GetVariable("REMOTE_ADDR"));

    public int RemotePort { get; set; } = ParsePort(parameters.GetVariable("REMOTE_PORT"));

    public IPAddress? LocalAddress { get; set; } = ParseAddress(parameters.GetVariable("SERVER_ADDR"));

    public int LocalPort { get; set; } = ParsePort(parameters.GetVariable("SERVER_PORT"));

    /// <summary>nginx says <c>unix:</c> for a client of a unix socket: there is no address then.</summary>
    private static IPAddress? ParseAddress(string? text) => IPAddress.TryParse(text, out var address) ? address : null;

    private static int ParsePort(string? text)
        => ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var port) ? port : 0;
}
