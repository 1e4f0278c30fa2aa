using FastCgi.AspNetCore.Hosting;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>Which two endpoints have one address.</summary>
public sealed class EndpointConflictsTests
{
    [Theory]
    [InlineData("fastcgi://127.0.0.1:9009", "fastcgi://127.0.0.1:9009", true)]
    [InlineData("fastcgi://127.0.0.1:9009", "fastcgi://127.0.0.1:9010", false)]
    [InlineData("fastcgi://127.0.0.1:9009", "fastcgi://127.0.0.2:9009", false)]
    [InlineData("fastcgi://127.0.0.1:0", "fastcgi://127.0.0.1:0", false)]
    [InlineData("fastcgi://0.0.0.0:9009", "fastcgi://127.0.0.1:9009", true)]
    [InlineData("fastcgi://127.0.0.1:9009", "fastcgi://0.0.0.0:9009", true)]
    [InlineData("fastcgi://0.0.0.0:9009", "fastcgi://[::1]:9009", false)]
    [InlineData("fastcgi://[::1]:9009", "fastcgi://0.0.0.0:9009", false)]
    [InlineData("fastcgi://[::]:9009", "fastcgi://127.0.0.1:9009", true)]
    [InlineData("fastcgi://127.0.0.1:9009", "fastcgi://[::]:9009", true)]
    [InlineData("fastcgi://unix:/run/a", "fastcgi://unix:/run/a", true)]
    [InlineData("fastcgi://unix:/run/a", "fastcgi://unix:/run/x/../a", true)]
    [InlineData("fastcgi://unix:/run/a", "fastcgi://unix:/run/b", false)]
    [InlineData("fastcgi://unix:@a/../b", "fastcgi://unix:@b", false)]
    [InlineData("fastcgi://unix:/run/a", "fastcgi://127.0.0.1:9009", false)]
    [InlineData("fastcgi://fd:3", "fastcgi://fd:3", true)]
    [InlineData("fastcgi://fd:3", "fastcgi://fd:4", false)]
    [InlineData("fastcgi://127.0.0.1:9009", "http://127.0.0.1:9009", true)]
    [InlineData("fastcgi://127.0.0.1:9009", "http://127.0.0.1:9010", false)]
    [InlineData("fastcgi://127.0.0.1:9009", "http://localhost:9009", true)]
    [InlineData("fastcgi://127.0.0.2:9009", "http://localhost:9009", false)]
    [InlineData("fastcgi://[::1]:9009", "http://LOCALHOST:9009", true)]
    [InlineData("fastcgi://127.0.0.2:9009", "http://*:9009", true)]
    [InlineData("fastcgi://127.0.0.2:9009", "http://+:9009", true)]
    [InlineData("fastcgi://127.0.0.2:9009", "http://www.example.test:9009", true)]
    [InlineData("fastcgi://127.0.0.2:9009", "http://127.0.0.1:9009", false)]
    [InlineData("fastcgi://127.0.0.1:0", "http://127.0.0.1:0", false)]
    [InlineData("fastcgi://unix:/run/a", "http://unix:/run/a", true)]
    [InlineData("fastcgi://unix:/run/a", "http://unix:/run/x/../a", true)]
    [InlineData("fastcgi://unix:/run/a", "http://unix:/run/b", false)]
    [InlineData("fastcgi://127.0.0.1:9009", "http://unix:/run/a", false)]
    [InlineData("fastcgi://unix:/run/a", "http://127.0.0.1:9009", false)]
    [InlineData("fastcgi://127.0.0.1:9009", "nonsense", false)]
    public void ThrowIfAny_Pair_IsOneAddressOrNot(string first, string second, bool isOne)
    {
        var isHttp = !second.StartsWith("fastcgi:", StringComparison.Ordinal);
        var endpoints = EndpointAddress.ParseWithOptions(first).Concat(isHttp ? [] : EndpointAddress.ParseWithOptions(second)).ToList();
        endpoints[0].Origin = "FastCgi:Endpoints:Main";
        if (!isHttp)
            endpoints[1].Origin = "urls";

        var error = Record.Exception(() => EndpointConflicts.ThrowIfAny(endpoints, isHttp ? ["http://127.0.0.1:1", second] : []));

        if (!isOne)
        {
            Assert.Null(error);
            return;
        }

        Assert.IsType<IOException>(error);
        Assert.Contains("FastCgi:Endpoints:Main", error.Message, StringComparison.Ordinal);
        Assert.Contains("urls", error.Message, StringComparison.Ordinal);
        Assert.EndsWith(". Remove one of them, or choose another port or path.", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void ThrowIfAny_TwiceInOnePlace_SaysThatItIsOne()
    {
        var endpoints = EndpointAddress.ParseWithOptions("fastcgi://127.0.0.1:9009").Concat(EndpointAddress.ParseWithOptions("fastcgi://0.0.0.0:9009")).ToList();

        Assert.Equal(
            "Failed to listen on fastcgi://0.0.0.0:9009: the code contains the address twice, here and as fastcgi://127.0.0.1:9009. Remove one of them, or choose another port or path.",
            Assert.Throws<IOException>(() => EndpointConflicts.ThrowIfAny(endpoints, [])).Message);
    }
}
