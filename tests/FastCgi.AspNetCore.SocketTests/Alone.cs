namespace FastCgi.AspNetCore.SocketTests;

/// <summary>
/// Tests that run sequentially: they measure rate and memory, count or exhaust descriptors, or set environment
/// variables.
/// </summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public static class Alone
{
    public const string Name = "alone";
}
