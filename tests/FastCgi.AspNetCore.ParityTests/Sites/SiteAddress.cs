namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>Where clients reach the site, told to its application, which sends requests to itself.</summary>
internal sealed class SiteAddress
{
    public Uri? Url { get; set; }
}
