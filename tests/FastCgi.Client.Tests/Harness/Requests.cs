namespace FastCgi.Client.Tests.Harness;

/// <summary>Requests, and what came of them.</summary>
internal static class Requests
{
    public static FastCgiRequestMessage Create(string method = "GET", string uri = "/", Stream? body = null)
    {
        var request = new FastCgiRequestMessage { Body = body };
        foreach (var (name, value) in RequestParams(method, uri))
            request.Parameters.Add(name, value);
        if (body is { CanSeek: true })
            request.Parameters["CONTENT_LENGTH"] = body.Length.ToString(
                System.Globalization.CultureInfo.InvariantCulture);
        return request;
    }

    public static async Task<string> ReadTextAsync(this FastCgiResponseMessage response)
    {
        using var content = new MemoryStream();
        await response.Body.CopyToAsync(content).Within("the body");
        return Encoding.Latin1.GetString(content.ToArray());
    }

    /// <summary>Sends, and reads the answer to its end.</summary>
    public static Task<string> GetAsync(this FastCgiClient client, string uri = "/")
        => ReadAsync(client.SendAsync(Create(uri: uri)));

    /// <summary>Reads an answer to its end.</summary>
    public static async Task<string> ReadAsync(Task<FastCgiResponseMessage> sending)
    {
        using var response = await sending.Within("an answer");
        var text = await response.ReadTextAsync();
        await response.Completion.Within("the end");
        return text;
    }

    public static async Task<FastCgiProtocolException> FailAsync(this Task task)
        => await Assert.ThrowsAsync<FastCgiProtocolException>(() => task.Within("a failure"));
}
