using System.Collections.ObjectModel;

namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>The configured addresses and, after the start, the bound ones: read-only, as in Kestrel.</summary>
internal sealed class ServerAddresses : Collection<string>, IServerAddressesFeature
{
    private bool _isPublished;

    public ICollection<string> Addresses => this;
    public bool PreferHostingUrls { get; set; }

    public void Publish(IEnumerable<string> addresses)
    {
        Items.Clear();
        foreach (var address in addresses)
            Items.Add(address);
        _isPublished = true;
    }

    protected override void InsertItem(int index, string item)
    {
        ThrowIfPublished();
        base.InsertItem(index, item);
    }

    protected override void SetItem(int index, string item)
    {
        ThrowIfPublished();
        base.SetItem(index, item);
    }

    protected override void RemoveItem(int index)
    {
        ThrowIfPublished();
        base.RemoveItem(index);
    }

    protected override void ClearItems()
    {
        ThrowIfPublished();
        base.ClearItems();
    }

    private void ThrowIfPublished()
    {
        if (_isPublished)
            throw new InvalidOperationException("The addresses cannot be changed after the server has started.");
    }
}
