using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The blocks of <c>docs/containers.md</c>, unchanged.</summary>
[Trait("Category", "Users")]
public sealed partial class ContainerTests(ITestOutputHelper output)
{
    private const string Site = "http://localhost:8080";

    [ContainerFact]
    public async Task Blocks_RunAsTheyStand_ApplicationIsLockedInAndServes()
    {
        var commands =
            $$$"""
            {{{await ReadAsync("container image")}}}
            {{{await ReadAsync("container pair")}}}
            echo '== request'
            {{{await ReadAsync("container request")}}}
            echo '== shell'
            podman exec app sh -c true || echo "none: $?"
            echo '== limits'
            podman stats --no-stream --format '{{.MemUsage}}' app
            podman inspect --format '{{.HostConfig.NanoCpus}} {{.HostConfig.ReadonlyRootfs}}' app
            {{{Transfer}}}
            echo '== keys'
            ls -n "$(podman volume inspect --format '{{.Mountpoint}}' app-keys)"
            echo '== stop'
            curl -fsSN '{{{Site}}}/ticks?count=6' >ticks &
            client=$!
            until grep -q tick ticks; do sleep 0.1; done
            {{{await ReadAsync("container stop")}}}
            wait $client
            grep -c tick ticks
            echo '== replaced'
            curl -fsS --retry 20 --retry-delay 1 --retry-all-errors -w '\n' {{{Site}}}/whoami
            echo '== web'
            podman stop web
            podman inspect --format '{{.State.ExitCode}}' web
            podman logs web
            echo '== without volume'
            podman run --rm --read-only app || echo "exit code $?"
            """;

        var sections = Section().Split(await ContainerHost.RunAsync(commands));

        foreach (var section in sections)
            output.WriteLine(section);
        Assert.Equal(9, sections.Length);
        Assert.Contains("An ASP.NET Core application behind FastCGI", sections[1]);
        Assert.Contains("ignores http://*:8080 from HTTP_PORTS", sections[1]);
        Assert.Contains("user app, group 101 (mode 0660, owner app, group 101)", sections[1]);
        Assert.DoesNotContain(sections[1].Split('\n'), static line => line.StartsWith("fail:", StringComparison.Ordinal)
            || line.StartsWith("warn: FastCgi", StringComparison.Ordinal));
        Assert.Contains("none: ", sections[2]);
        Assert.Matches(@" / 268\.4MB\n1000000000 true\n(\{""size"":25000000 50000000\n){4}false 0\n", sections[3]);
        Assert.Matches(@" 1654 .* key-[-0-9a-f]+\.xml\n", sections[4]);
        Assert.Matches(@"\Aapp\n0\napp\n6\n", sections[5]);
        Assert.Contains("\"host\":\"localhost:8080\"", sections[6]);
        Assert.Contains("\n0\n", sections[7]);
        Assert.Contains("signal 3 (SIGQUIT) received", sections[7]);
        Assert.DoesNotMatch(@"\[(alert|emerg)\]|Permission denied", sections[7]);
        Assert.Contains("the folder of the socket does not exist", sections[8]);
        Assert.Contains("\nexit code 139\n", sections[8]);
    }

    // At the same time: within the memory limit.
    private const string Transfer =
        $$$"""
        clients=()
        for client in 1 2 3 4; do
            {
                sent=$(head -c 25000000 /dev/zero | curl -fsS -T - -X POST {{{Site}}}/upload)
                echo "${sent%%,*} $(curl -fsS {{{Site}}}/download/50000000 | wc -c)"
            } &
            clients+=($!)
        done
        wait "${clients[@]}"
        podman inspect --format '{{.State.OOMKilled}} {{.RestartCount}}' app
        """;

    private static Task<string> ReadAsync(string block) => DocumentBlock.ReadAsync("containers.md", block);

    [GeneratedRegex(@"^== [\w ]+\n", RegexOptions.Multiline)]
    private static partial Regex Section();
}
