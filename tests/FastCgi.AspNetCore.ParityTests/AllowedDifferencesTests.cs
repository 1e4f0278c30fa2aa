namespace FastCgi.AspNetCore.ParityTests;

public sealed class AllowedDifferencesTests
{
    [Fact]
    public void All_InTheDocument_AreTheSame()
    {
        var expected = $"\n{AllowedDifferences.ToTable()}\n";
        var document = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "parity.md"));

        Assert.True(document.Contains(expected), $"tests/parity.md does not have this table:\n{expected}");
    }
}
