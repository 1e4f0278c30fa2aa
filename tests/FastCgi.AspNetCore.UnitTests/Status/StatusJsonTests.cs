using System.Text.Json;

namespace FastCgi.AspNetCore.UnitTests.Status;

/// <summary>The status as JSON and as a page, from a snapshot. Monitoring depends on the names.</summary>
public sealed class StatusJsonTests
{
    private const string Expected = """
        {"application":"Shop","version":"1.2.3","runtime":".NET 10","system":"Linux","processId":42,
        "startedAt":"2026-01-02T03:04:05+00:00","uptime":1.5,
        "takenAt":"2026-01-02T03:04:06.5+00:00","state":"running","engine":"epoll","loops":2,"scheduling":"Inline",
        "endpoints":["fastcgi://127.0.0.1:9000"],
        "connections":{"active":11,"total":12,"rejected":13,"refused":14,"bytesReceived":15000000000,"bytesSent":16,
        "protocolErrors":{"BadRecord":17,"WrongProtocol":18}},
        "requests":{"active":21,"queued":22,"total":23,"rejected":{"400 MissingMethod":24},
        "aborted":{"ByWebServer":25}},
        "recent":{"seconds":60,"requestsPerSecond":1.1,"connectionsPerSecond":1.2,"bytesReceivedPerSecond":1.3,
        "bytesSentPerSecond":1.4,"measured":31,"p50":0.25,"p90":0.5,"p99":null,"max":4},
        "resources":{"bufferMemory":41,"managedMemory":42,"residentMemory":43,"processorTime":4.4,"descriptors":45,
        "handOvers":46,"threads":47,"blockedThreads":48,"requestsWithoutThread":49,"poolThreads":50,"poolWaiting":51},
        "limits":[{"name":"MaxConcurrentRequests","limit":"100","used":21,"part":0.21}],
        "recommendations":[{"eventId":61,"name":"HostNotPassed","level":"Warning",
        "message":"Add \u003Ca\u003E \u0026 \u0022b\u0022.","count":62,"lastSeen":"2026-01-02T03:04:05+00:00"}],
        "errors":[{"eventId":63,"name":"LoopFailed","level":"Error","message":"It failed.","count":64,
        "lastSeen":"2026-01-02T03:04:05+00:00"}],
        "frontEnds":[{"software":"nginx","lastSeen":"2026-01-02T03:04:05+00:00","samples":71,"keepConnection":72,
        "withScheme":73,"withoutScheme":74,"withTarget":75,"withoutHost":76,"withClient":77,"withUser":79,
        "passesAuthorization":true,"challenges":80}],
        "otherFrontEndSamples":78,"openConnections":[{"id":"c1","peer":"unix","age":8,"state":"active","requests":82,
        "active":83,"bytesReceived":84,"bytesSent":85}],
        "activeRequests":[{"connection":"c1","id":1,"sequence":91,"age":9.1,"method":"GET","path":"/","client":null,
        "state":"in the application","bytesRead":92,"bytesWritten":93}]}
        """;

    private static string Written => JsonSerializer.Serialize(Snapshots.Full, StatusJson.Default.StatusSnapshot);

    [Fact]
    public void Json_OfASnapshot_IsThis()
    {
        using var document = JsonDocument.Parse(Written);

        using var expected = JsonDocument.Parse(Expected);
        Assert.Equal(JsonSerializer.Serialize(expected.RootElement), JsonSerializer.Serialize(document.RootElement));
        Assert.Contains("\n  \"application\": \"Shop\",", Written.ReplaceLineEndings("\n"));
    }

    /// <summary>The script runs with an unpredictable nonce and has its first data.</summary>
    [Fact]
    public void Page_OfASnapshot_ContainsItAndAFreshNonce()
    {
        var page = StatusEndpoint.WritePage(Snapshots.Full, out var policy);
        StatusEndpoint.WritePage(Snapshots.Full, out var other);

        Assert.Matches("^default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-[A-Za-z0-9+/]{22}=='; "
            + "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'$", policy);
        Assert.NotEqual(other, policy);
        var nonce = policy.Split("'nonce-")[1].Split('\'')[0];
        Assert.Contains($"nonce=\"{nonce}\"", page);
        Assert.DoesNotContain("NONCE", page);
        Assert.Contains(Written, page);
        Assert.DoesNotContain("SNAPSHOT", page);
    }
}
