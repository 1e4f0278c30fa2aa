namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>Which two endpoints have one address.</summary>
public sealed class EndpointConflictsTests
{
    [Theory]
    [InlineData(
        "fastcgi://127.0.0.1:9009", true, "fastcgi://127.0.0.1:9009", "fastcgi://0.0.0.0:9009", "fastcgi://[::]:9009")]
    [InlineData("fastcgi://127.0.0.1:9009", true, "http://127.0.0.1:9009", "http://localhost:9009")]
    [InlineData("fastcgi://127.0.0.1:9009", false, "fastcgi://127.0.0.1:9010", "fastcgi://127.0.0.2:9009")]
    [InlineData("fastcgi://127.0.0.1:9009", false, "http://127.0.0.1:9010", "http://unix:/run/a", "nonsense")]
    [InlineData("fastcgi://127.0.0.2:9009", true, "http://*:9009", "http://+:9009", "http://www.example.test:9009")]
    [InlineData("fastcgi://127.0.0.2:9009", false, "http://localhost:9009", "http://127.0.0.1:9009")]
    [InlineData("fastcgi://127.0.0.1:0", false, "fastcgi://127.0.0.1:0", "http://127.0.0.1:0")]
    [InlineData("fastcgi://0.0.0.0:9009", true, "fastcgi://127.0.0.1:9009")]
    [InlineData("fastcgi://0.0.0.0:9009", false, "fastcgi://[::1]:9009")]
    [InlineData("fastcgi://[::1]:9009", true, "http://LOCALHOST:9009")]
    [InlineData("fastcgi://[::1]:9009", false, "fastcgi://0.0.0.0:9009")]
    [InlineData("fastcgi://[::]:9009", true, "fastcgi://127.0.0.1:9009")]
    [InlineData(
        "fastcgi://unix:/run/a", true, "fastcgi://unix:/run/a", "fastcgi://unix:/run/x/../a", "http://unix:/run/a",
        "http://unix:/run/x/../a")]
    [InlineData(
        "fastcgi://unix:/run/a", false, "fastcgi://unix:/run/b", "fastcgi://127.0.0.1:9009", "http://unix:/run/b",
        "http://127.0.0.1:9009")]
    [InlineData("fastcgi://unix:@a/../b", false, "fastcgi://unix:@b")]
    [InlineData("fastcgi://fd:3", true, "fastcgi://fd:3")]
    [InlineData("fastcgi://fd:3", false, "fastcgi://fd:4")]
    public void ThrowIfAny_Pair_IsOneAddressOrNot(string first, bool isOne, params string[] others)
        => Assert.All(others, second =>
        {
            var isHttp = !second.StartsWith("fastcgi:", StringComparison.Ordinal);
            var endpoints = EndpointAddress.ParseWithOptions(first)
                .Concat(isHttp ? [] : EndpointAddress.ParseWithOptions(second)).ToList();
            endpoints[0].Origin = "FastCgi:Endpoints:Main";
            if (!isHttp)
                endpoints[1].Origin = "urls";

            var error = Record.Exception(
                () => EndpointConflicts.ThrowIfAny(endpoints, isHttp ? ["http://127.0.0.1:1", second] : []));

            if (!isOne)
            {
                Assert.Null(error);
                return;
            }

            Assert.IsType<IOException>(error);
            Assert.Contains("FastCgi:Endpoints:Main", error.Message, StringComparison.Ordinal);
            Assert.Contains("urls", error.Message, StringComparison.Ordinal);
            Assert.EndsWith(
                ". Remove one of them, or choose another port or path.", error.Message, StringComparison.Ordinal);
        });

    [Fact]
    public void ThrowIfAny_TwiceFromOneSource_NamesTheSourceOnce()
    {
        var endpoints = EndpointAddress.ParseWithOptions("fastcgi://127.0.0.1:9009")
            .Concat(EndpointAddress.ParseWithOptions("fastcgi://0.0.0.0:9009")).ToList();

        Assert.Equal(
            "Failed to listen on fastcgi://0.0.0.0:9009: the code contains the address twice, here and as "
                + "fastcgi://127.0.0.1:9009. Remove one of them, or choose another port or path.",
            Assert.Throws<IOException>(() => EndpointConflicts.ThrowIfAny(endpoints, [])).Message);
    }
}
