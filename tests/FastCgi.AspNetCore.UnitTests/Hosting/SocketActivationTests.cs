namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class SocketActivationTests
{
    [Theory]
    [InlineData(null, null)]
    [InlineData("", "1")]
    [InlineData("1", "")]
    [InlineData("1", null)]
    [InlineData("1", "0")]
    public void Read_NothingPassed_None(string? process, string? count) => Assert.Empty(SocketActivation.Read(process, count, null));

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    public void Read_WithoutNames_FromThreeOnAndUnknown(string? names)
        => Assert.Equal([(3, "unknown"), (4, "unknown")], SocketActivation.Read("7", "2", names));

    [Fact]
    public void Read_Names_InTheirOrder()
        => Assert.Equal([(3, "web"), (4, ""), (5, "web")], SocketActivation.Read("7", "3", "web::web"));

    [Theory]
    [InlineData("-1", null, "LISTEN_FDS is '-1'")]
    [InlineData("two", null, "LISTEN_FDS is 'two'")]
    [InlineData("2147483647", null, "LISTEN_FDS is '2147483647'")]
    [InlineData("2", "web", "LISTEN_FDNAMES is 'web'")]
    [InlineData("1", "web:admin", "LISTEN_FDNAMES is 'web:admin'")]
    public void Read_BadVariable_ErrorNamesItAndItsValue(string count, string? names, string text)
    {
        var error = Assert.Throws<IOException>(() => SocketActivation.Read("7", count, names));

        Assert.Contains(text, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("7", true)]
    [InlineData("8", false)]
    [InlineData("07", false)]
    [InlineData("", false)]
    [InlineData(null, false)]
    public void IsFor_Process_Exactly(string? process, bool isFor) => Assert.Equal(isFor, SocketActivation.IsFor(process, 7));
}
