using k8s;
using k8s.Models;
using YamlDotNet.Core;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>
/// The files of <c>samples/scale-out</c>: those for several machines run with one process per machine; the others are
/// validated.
/// </summary>
public sealed class ScaleOutTests
{
    private const int RequestCount = 1_500;
    private const int MachineCount = 3;

    [Theory, Values("nginx.conf", "haproxy.cfg")]
    public async Task Restart_TwoOfThreeMachines_NoRequestLost(string configuration)
    {
        using var folder = new ScratchFolder();
        var ports = Enumerable.Range(0, MachineCount).Select(static _ => new PortReservation()).ToList();
        var machines = await Task.WhenAll(ports.Select(StartAsync));
        try
        {
            await using var frontEnd = await WebServer.StartSampleAsync(
                folder.Path, configuration, ports.Select(static port => port.EndPoint));
            await using var load = Load.Start(frontEnd.EndPoint);
            await load.WaitForAsync(RequestCount);
            for (var i = 0; i < 2; i++)
            {
                Assert.Equal(0, await machines[i].EndAsync("TERM"));
                await load.WaitForAsync(load.Count + RequestCount);
                await machines[i].DisposeAsync();
                machines[i] = await StartAsync(ports[i]);
                await load.WaitForAsync(load.Count + RequestCount);
            }

            await load.EndAsync();

            Assert.True(load.Failures.Count == 0, string.Join('\n', load.Failures.Take(20)) + "\n" + frontEnd.Log);
        }
        finally
        {
            foreach (var machine in machines)
                await machine.DisposeAsync();
            ports.ForEach(static port => port.Dispose());
        }
    }

    /// <summary>The client's classes are generated from the schema that Kubernetes publishes.</summary>
    [Fact]
    public async Task Manifests_EachField_IsInTheSchema()
    {
        var text = await ReadAsync("kubernetes.yaml");

        var objects = KubernetesYaml.LoadAllFromString(text, strict: true);

        Assert.Equal(
            [
                typeof(V1ConfigMap), typeof(V1Deployment), typeof(V1PersistentVolumeClaim), typeof(V1Service),
                typeof(V1Ingress),
            ],
            objects.Select(static each => each.GetType()));
        var pod = objects.OfType<V1Deployment>().Single().Spec.Template.Spec;
        Assert.Equal(
            10, pod.Containers.Single(static container => container.Name == "app").Lifecycle.PreStop.Sleep.Seconds);
        Assert.Equal(
            "/ping", pod.Containers.Single(static container => container.Name == "nginx").ReadinessProbe.HttpGet.Path);
        Assert.Contains("# Needs Kubernetes 1.30 for the sleep of preStop", text, StringComparison.Ordinal);
        Assert.ThrowsAny<YamlException>(
            () => KubernetesYaml.LoadAllFromString(
                text.Replace("readinessProbe:", "readyProbe:", StringComparison.Ordinal), strict: true));
    }

    [Theory]
    [InlineData("kubernetes.yaml")]
    [InlineData("compose.nginx.conf")]
    public async Task NginxOfContainers_IsValid(string file)
    {
        using var folder = new ScratchFolder();
        var text = await ReadAsync(file);
        if (file == "kubernetes.yaml")
            text = KubernetesYaml.LoadAllFromString(text).OfType<V1ConfigMap>().Single().Data["default.conf"];

        Assert.Equal("", await WebServer.CheckNginxAsync(folder.Path, text));
    }

    private static Task<AppProcess> StartAsync(PortReservation port)
        => AppProcess.StartAsync($"fastcgi://{port.EndPoint}");

    private static Task<string> ReadAsync(string file)
        => File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "scale-out", file));
}
