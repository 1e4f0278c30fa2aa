namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>The web servers that the tests know how to start.</summary>
public enum FrontEndKind
{
    Nginx,
    Apache,
}
