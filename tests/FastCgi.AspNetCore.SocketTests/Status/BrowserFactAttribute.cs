namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>A test that needs a browser.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class BrowserFactAttribute : FactAttribute
{
    public BrowserFactAttribute()
    {
        if (!File.Exists(Browser.Path))
            Skip = "Chromium is not installed: apt-get install chromium";
    }
}
