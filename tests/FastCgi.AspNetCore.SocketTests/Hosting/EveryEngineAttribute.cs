using System.Reflection;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Gives a theory each engine that this system has.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class EveryEngineAttribute : DataAttribute
{
    public override IEnumerable<object[]> GetData(MethodInfo testMethod)
    {
        yield return [FastCgiTransportEngine.Socket];
        if (OperatingSystem.IsLinux())
            yield return [FastCgiTransportEngine.Epoll];
    }
}
