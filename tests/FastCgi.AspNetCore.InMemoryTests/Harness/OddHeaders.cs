namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A dictionary without name checks, which requires that no lock is held; some throw.</summary>
internal sealed class OddHeaders(
    string? name,
    string value) : HeaderDictionary, IHeaderDictionary, IEnumerable<KeyValuePair<string, StringValues>>
{
    long? IHeaderDictionary.ContentLength
    {
        get
        {
            Invariants.RequireNoLock("A header dictionary of the application");
            return name is null ? throw new NotSupportedException("on purpose") : null;
        }

        set => Invariants.RequireNoLock("A header dictionary of the application");
    }

    int ICollection<KeyValuePair<string, StringValues>>.Count => 1;

    void ICollection<KeyValuePair<string, StringValues>>.CopyTo(
        KeyValuePair<string, StringValues>[] array, int arrayIndex)
    {
        Invariants.RequireNoLock("A header dictionary of the application");
        array[arrayIndex] = new(name ?? throw new NotSupportedException("on purpose"), value);
    }

    IEnumerator<KeyValuePair<string, StringValues>> IEnumerable<KeyValuePair<string, StringValues>>.GetEnumerator()
    {
        Invariants.RequireNoLock("A header dictionary of the application");
        yield return new(name ?? throw new NotSupportedException("on purpose"), value);
    }
}
