using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// Standard output and error, which who starts a FastCGI application may leave closed. Not for Windows.
/// </summary>
internal static class StandardStreams
{
    private const int Input = 0;
    private const int Output = 1;
    private const int Error = 2;

    /// <summary>Makes sure that what is written to the console goes to the console, or else nowhere.</summary>
    public static void Secure()
    {
        // A connection would get the number of a closed one.
        for (var stream = Input; stream <= Error; stream++)
        {
            if (!Descriptors.IsOpen(stream))
                Descriptors.OpenNullDevice();
        }

        // The runtime starts before us, and makes pipes for itself.
        if (IsPipeOfTheRuntime(Output))
            Console.SetOut(TextWriter.Null);
        if (IsPipeOfTheRuntime(Error))
            Console.SetError(TextWriter.Null);
    }

    /// <summary>Whether the runtime got a descriptor for one end of a pipe, of which it has the other too: the reading end comes first.</summary>
    internal static bool IsPipeOfTheRuntime(int stream)
        => Descriptors.IsReadOnly(stream) || (Descriptors.IsReadOnly(stream - 1) && PipeName.Get(stream) is { } pipe && pipe == PipeName.Get(stream - 1));
}
