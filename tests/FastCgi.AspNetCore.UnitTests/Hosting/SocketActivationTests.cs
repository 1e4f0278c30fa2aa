namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class SocketActivationTests
{
    [Theory]
    [InlineData(null, null, null, "")]
    [InlineData("", "1", null, "")]
    [InlineData("1", "", null, "")]
    [InlineData("1", null, null, "")]
    [InlineData("1", "0", null, "")]
    [InlineData("7", "2", null, "3=unknown 4=unknown")]
    [InlineData("7", "2", "", "3=unknown 4=unknown")]
    [InlineData("7", "3", "web::web", "3=web 4= 5=web")]
    public void Read_Variables_AreTheSocketsFromThreeOn(string? process, string? count, string? names, string sockets)
        => Assert.Equal(sockets, string.Join(' ', InheritedSockets.ReadPassed(process, count, names).Select(
            static socket => $"{socket.Item1}={socket.Item2}")));

    [Theory]
    [InlineData("-1", null, "LISTEN_FDS is '-1'")]
    [InlineData("two", null, "LISTEN_FDS is 'two'")]
    [InlineData("2147483647", null, "LISTEN_FDS is '2147483647'")]
    [InlineData("2", "web", "LISTEN_FDNAMES is 'web'")]
    [InlineData("1", "web:admin", "LISTEN_FDNAMES is 'web:admin'")]
    public void Read_BadVariable_ErrorNamesItAndItsValue(string count, string? names, string text)
        => Assert.Contains(
            text, Assert.Throws<IOException>(() => InheritedSockets.ReadPassed("7", count, names)).Message);

    [Fact]
    public void IsFor_Process_Exactly()
    {
        Assert.True(InheritedSockets.IsFor("7", 7));
        Assert.All(["8", "07", "", null], static process => Assert.False(InheritedSockets.IsFor(process, 7)));
    }
}
