namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>Standard output and error, which a FastCGI parent process may leave closed.</summary>
[SupportedOSPlatform("linux")]
internal static class StandardStreams
{
    private const int Input = 0;
    private const int Output = 1;
    private const int Error = 2;

    public static void Secure()
    {
        // Otherwise, a connection would get the descriptor of a closed stream.
        for (var stream = Input; stream <= Error; stream++)
        {
            if (!Descriptors.IsOpen(stream))
                Descriptors.OpenNullDevice();
        }

        // The runtime has already created its own pipes.
        if (IsPipeOfTheRuntime(Output))
            Console.SetOut(TextWriter.Null);
        if (IsPipeOfTheRuntime(Error))
            Console.SetError(TextWriter.Null);
    }

    /// <summary>Whether it is an end of a pipe that the runtime created for itself, reading end first.</summary>
    internal static bool IsPipeOfTheRuntime(int stream)
        => Descriptors.IsReadOnly(stream)
            || (Descriptors.IsReadOnly(stream - 1)
                && Descriptors.GetPipeName(stream) is { } pipe
                && pipe == Descriptors.GetPipeName(stream - 1));
}
