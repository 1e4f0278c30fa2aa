using System.Reflection;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Gives a theory each way in which this server listens on this system.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class EveryEngineAttribute : DataAttribute
{
    public override IEnumerable<object[]> GetData(MethodInfo testMethod)
    {
        yield return [Engine.Socket];
        if (OperatingSystem.IsLinux())
            yield return [Engine.Epoll];
    }
}
