using System.Globalization;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class DescriptorLimitTests
{
    [Fact]
    public void Get_OnLinux_IsTheLimitOfTheProcess()
    {
        var line = File.ReadLines("/proc/self/limits").Single(static line => line.StartsWith("Max open files", StringComparison.Ordinal));
        var soft = line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[3];
        var expected = soft == "unlimited" ? int.MaxValue : Math.Min(long.Parse(soft, CultureInfo.InvariantCulture), int.MaxValue);

        Assert.Equal(expected, DescriptorLimit.Get());
    }
}
