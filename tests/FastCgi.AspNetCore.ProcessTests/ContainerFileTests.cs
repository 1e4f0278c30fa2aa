using System.Text.RegularExpressions;
using k8s;
using k8s.Models;
using YamlDotNet.Core;
using YamlDotNet.Serialization;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>
/// The files of <c>samples/container</c> for Compose and Kubernetes, which cannot run here: they have the options that
/// <see cref="ContainerTests"/> run, and the fields of their schemas.
/// </summary>
public sealed partial class ContainerFileTests
{
    /// <summary>The client's classes are generated from the schema that Kubernetes publishes.</summary>
    [Fact]
    public async Task Kubernetes_EachField_IsInTheSchema()
    {
        var text = await ReadAsync("kubernetes.yaml");

        var objects = KubernetesYaml.LoadAllFromString(text, strict: true);

        Assert.Equal(
            [typeof(V1ConfigMap), typeof(V1Deployment), typeof(V1PersistentVolumeClaim), typeof(V1Service)],
            objects.Select(static each => each.GetType()));
        Assert.Contains("# Needs Kubernetes 1.30 for the sleep of preStop", text);
        Assert.ThrowsAny<YamlException>(
            () => KubernetesYaml.LoadAllFromString(text.Replace("readinessProbe:", "readyProbe:"), strict: true));
    }

    [Fact]
    public async Task Kubernetes_Pod_IsLockedInAndEndsWithNginxFirst()
    {
        var pod = KubernetesYaml.LoadAllFromString(await ReadAsync("kubernetes.yaml")).OfType<V1Deployment>().Single()
            .Spec.Template.Spec;

        Assert.Equal(101, pod.SecurityContext.FsGroup);
        Assert.All(pod.Containers, static container =>
        {
            Assert.True(container.SecurityContext.ReadOnlyRootFilesystem);
            Assert.Contains(container.VolumeMounts, static mount => mount.MountPath == "/tmp");
            Assert.Contains(container.VolumeMounts, static mount => mount.MountPath == "/run/app");
        });
        var (app, web) = (pod.Containers[0], pod.Containers[1]);
        Assert.Equal("/ping", web.ReadinessProbe.HttpGet.Path);
        Assert.True(web.Lifecycle.PreStop.Sleep.Seconds < app.Lifecycle.PreStop.Sleep.Seconds);
        Assert.True(app.Lifecycle.PreStop.Sleep.Seconds + 30 < pod.TerminationGracePeriodSeconds);
    }

    [Theory, Values("kubernetes.yaml", "nginx.conf")]
    public async Task NginxOfContainers_IsValid(string file)
    {
        using var folder = new ScratchFolder();
        var text = await ReadAsync(file);
        if (file == "kubernetes.yaml")
            text = KubernetesYaml.LoadAllFromString(text).OfType<V1ConfigMap>().Single().Data["default.conf"];

        Assert.Equal("", await WebServer.CheckNginxAsync(folder.Path, text));
    }

    [Fact]
    public async Task Compose_Services_HaveTheOptionsOfThePage()
    {
        var page = await DocumentBlock.ReadAsync("containers.md", "container pair");
        var commands = page.Replace("\\\n", " ").Split('\n');
        var parser = new MergingParser(new Parser(new StringReader(await ReadAsync("compose.yaml"))));

        var compose = new DeserializerBuilder().Build().Deserialize<Dictionary<string, object>>(parser);

        foreach (var (name, service) in AsMap(compose["services"]))
        {
            var options = AsMap(service).SelectMany(static setting => GetOptions(setting.Key, setting.Value));
            var command = commands.Single(line => line.Contains($"--name {name} "));
            Assert.EndsWith(" " + AsMap(service)["image"], command);
            Assert.Equal(
                Option().Matches(command).Select(static match => match.Value.Trim())
                    .Except(["--detach", $"--name {name}"]).Order(StringComparer.Ordinal),
                options.Order(StringComparer.Ordinal));
        }

        var folder = AsMap(AsMap(AsMap(compose["volumes"])["app-socket"])["driver_opts"]);
        Assert.Equal(
            "podman volume create "
                + string.Concat(folder.Select(static option => $"--opt {option.Key}={option.Value} ")) + "app-socket",
            commands[0]);
    }

    /// <returns>The options of <c>podman run</c> that mean the same.</returns>
    private static IEnumerable<string> GetOptions(object key, object value) => key switch
    {
        "image" or "restart" or "depends_on" => [],
        "read_only" => ["--read-only"],
        "tmpfs" => AsList(value).Select(static each => $"--tmpfs {each}"),
        "cap_drop" => AsList(value).Select(static each => $"--cap-drop {each}"),
        "security_opt" => AsList(value).Select(static each => $"--security-opt {each}"),
        "mem_limit" => [$"--memory {value}"],
        "cpus" => [$"--cpus {value}"],
        "stop_grace_period" => [$"--stop-timeout {value.ToString()!.TrimEnd('s')}"],
        "ports" => AsList(value).Select(static each => $"--publish {each}"),
        "volumes" => AsList(value).Select(static each => each.ToString()!.StartsWith("./", StringComparison.Ordinal)
            ? $"--volume \"$PWD/samples/container{each.ToString()![1..]}\""
            : $"--volume {each}"),
        "healthcheck" => [$"--health-cmd '{string.Join(' ', AsList(AsMap(value)["test"]).Skip(1))}'"],
        _ => throw new ArgumentOutOfRangeException(nameof(key), key, "The page has no such option."),
    };

    private static Dictionary<object, object> AsMap(object value) => (Dictionary<object, object>)value;

    private static List<object> AsList(object value) => (List<object>)value;

    private static Task<string> ReadAsync(string file)
        => File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "container", file));

    [GeneratedRegex("""--[-a-z]+( (?!-)('[^']*'|"[^"]*"|[^ ]+)(?= ))?""")]
    private static partial Regex Option();
}
