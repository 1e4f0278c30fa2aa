using System.Security.Cryptography;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Applications that several tests use.</summary>
internal static class Apps
{
    /// <summary>Answers at once.</summary>
    public static Task Hello(HttpContext context) => context.Response.WriteAsync("Hello");

    /// <summary>Does something at once.</summary>
    public static RequestDelegate Do(Action<HttpContext> action) => context =>
    {
        action(context);
        return Task.CompletedTask;
    };

    /// <summary>A callback that does something at once.</summary>
    public static Func<Task> Do(Action action) => () =>
    {
        action();
        return Task.CompletedTask;
    };

    public static RequestDelegate HelloAfter(Task signal) => After(signal, Hello);

    public static RequestDelegate After(
        Task signal, RequestDelegate application, string? path = null) => async context =>
    {
        if (path is null || context.Request.Path == path)
            await signal;
        await application(context);
    };

    public static Task Target(HttpContext context)
        => context.Response.WriteAsync($"{context.Request.Method} {context.Request.Path}{context.Request.QueryString}");

    /// <summary>Waits until the request is aborted, and ends as an application that honors the token does.</summary>
    public static async Task UntilAborted(HttpContext context)
    {
        var aborted = Waiting.Signal();
        await using var registration = context.RequestAborted.Register(
            () => aborted.TrySetCanceled(context.RequestAborted));
        await aborted.Task;
    }

    public static async Task BodyHash(HttpContext context)
    {
        using var body = new MemoryStream();
        await context.Request.Body.CopyToAsync(body);
        await context.Response.WriteAsync($"{body.Length} {Convert.ToHexString(SHA256.HashData(body.ToArray()))}");
    }

    public static string HashOf(byte[] body) => $"{body.Length} {Convert.ToHexString(SHA256.HashData(body))}";

    /// <summary>Bytes that differ from their neighbors, so that lost or duplicated ones are detected.</summary>
    public static byte[] Pattern(int length) => RecordBytes.Content(length);

    public static byte[] Utf8(string text) => Encoding.UTF8.GetBytes(text);
}
