namespace FastCgi.AspNetCore.ParityTests;

/// <summary>The sites are started once, for all tests.</summary>
[CollectionDefinition(nameof(ParitySites))]
public sealed class ParitySitesDefinition : ICollectionFixture<ParitySites>;
