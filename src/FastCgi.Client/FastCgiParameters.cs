using System.Collections;

namespace FastCgi.Client;

/// <summary>
/// Represents the parameters of a request (FCGI_PARAMS): names and values in the order in which they are sent. A name
/// may occur twice; nginx, for example, repeats the name of a repeated header.
/// </summary>
public sealed class FastCgiParameters : IReadOnlyList<FastCgiParameter>
{
    private readonly List<FastCgiParameter> _parameters = [];

    /// <inheritdoc/>
    public int Count => _parameters.Count;

    /// <inheritdoc/>
    public FastCgiParameter this[int index] => _parameters[index];

    /// <summary>
    /// Gets or sets the value of a parameter, as UTF-8: the first value, or <see langword="null"/>. Setting it replaces
    /// all values.
    /// </summary>
    /// <param name="name">The name, which is case-sensitive.</param>
    public string? this[string name]
    {
        get
        {
            ArgumentNullException.ThrowIfNull(name);
            var index = _parameters.FindIndex(parameter => parameter.Name == name);
            return index < 0 ? null : _parameters[index].Value;
        }

        set
        {
            ArgumentNullException.ThrowIfNull(name);
            var index = _parameters.FindIndex(parameter => parameter.Name == name);
            _parameters.RemoveAll(parameter => parameter.Name == name);
            if (value is not null)
                _parameters.Insert(index < 0 ? _parameters.Count : index, FastCgiParameter.Create(name, value));
        }
    }

    /// <summary>Adds a parameter at the end, as UTF-8.</summary>
    /// <param name="name">The name. It may be empty.</param>
    /// <param name="value">The value. It may be empty.</param>
    public void Add(string name, string value) => _parameters.Add(FastCgiParameter.Create(name, value));

    /// <summary>Adds a parameter at the end, as bytes.</summary>
    /// <param name="name">The name, as arbitrary bytes.</param>
    /// <param name="value">The value, as arbitrary bytes.</param>
    public void Add(ReadOnlyMemory<byte> name, ReadOnlyMemory<byte> value)
        => _parameters.Add(new FastCgiParameter(name, value));

    /// <inheritdoc/>
    public IEnumerator<FastCgiParameter> GetEnumerator() => _parameters.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}

/// <summary>Represents a parameter of a request.</summary>
/// <param name="NameBytes">The bytes of the name.</param>
/// <param name="ValueBytes">The bytes of the value.</param>
public readonly record struct FastCgiParameter(ReadOnlyMemory<byte> NameBytes, ReadOnlyMemory<byte> ValueBytes)
{
    /// <summary>Gets the name as UTF-8.</summary>
    public string Name => Encoding.UTF8.GetString(NameBytes.Span);

    /// <summary>Gets the value as UTF-8.</summary>
    public string Value => Encoding.UTF8.GetString(ValueBytes.Span);

    internal static FastCgiParameter Create(string name, string value)
    {
        ArgumentNullException.ThrowIfNull(name);
        ArgumentNullException.ThrowIfNull(value);
        return new FastCgiParameter(Encoding.UTF8.GetBytes(name), Encoding.UTF8.GetBytes(value));
    }
}
