namespace FastCgi.AspNetCore.UnitTests.Protocol;

public sealed class BeginRequestBodyTests
{
    [Theory]
    [InlineData(new byte[] { 0, 1, 0, 0, 0, 0, 0, 0 }, 1, false)]
    [InlineData(new byte[] { 0, 1, 1, 0, 0, 0, 0, 0 }, 1, true)]
    [InlineData(new byte[] { 0, 2, 0, 0xff, 0xff, 0xff, 0xff, 0xff }, 2, false)]
    [InlineData(new byte[] { 0, 3, 0xff, 1, 2, 3, 4, 5 }, 3, true)]
    [InlineData(new byte[] { 1, 0, 0xfe, 0, 0, 0, 0, 0 }, 256, false)]
    [InlineData(new byte[] { 0xff, 0xff, 3, 0, 0, 0, 0, 0 }, 65_535, true)]
    public void Parse_AnyEightBytes_RoleAndFlagsOnly(byte[] content, int role, bool keepConnection)
    {
        var body = BeginRequestBody.Parse(content);

        Assert.Equal(role, body.Role);
        Assert.Equal(content[2], body.Flags);
        Assert.Equal(keepConnection, body.KeepConnection);
    }
}
