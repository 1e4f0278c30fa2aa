namespace FastCgi.AspNetCore.SocketTests;

/// <summary>Tests that run one after the other, beside no other: they measure its rate and memory, count or use up the descriptors of the process, or set variables of its environment.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public static class Alone
{
    public const string Name = "alone";
}
