using System.Collections;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>The feature collection: own features, fields for frequent ones, and a list of all others.</content>
internal abstract partial class FastCgiRequest : IEndpointFeature, IRouteValuesFeature
{
    // In the order in which they were first set; null if removed. A change replaces the array, so no lock is needed.
    private KeyValuePair<Type, object?>[] _others = [];
    private object? _items;
    private object? _serviceProviders;
    private object? _query;
    private object? _authentication;
    private RouteValueDictionary? _routeValues;
    private int _revision;

    public bool IsReadOnly => false;
    public int Revision => Volatile.Read(ref _revision);

    public object? this[Type key]
    {
        get
        {
            ref var field = ref FindField(key);
            if (!Unsafe.IsNullRef(ref field))
                return field;

            return TryFindOther(key, out var other) ? other : GetOwn(key);
        }

        set
        {
            ref var field = ref FindField(key);
            var isOther = Unsafe.IsNullRef(ref field);
            if (value is not null && (!isOther || IsOwn(key)) && !key.IsInstanceOfType(value))
                throw new InvalidCastException($"Unable to cast object of type '{value.GetType()}' to type '{key}'.");

            if (isOther)
                SetOther(key, value);
            else
                field = value;
            // After the change, so that no caller caches the old feature under the new revision.
            Interlocked.Increment(ref _revision);
        }
    }

    Endpoint? IEndpointFeature.Endpoint { get; set; }

    RouteValueDictionary IRouteValuesFeature.RouteValues
    {
        get => _routeValues ?? Keep(ref _routeValues, []);
        set => _routeValues = value;
    }

    public TFeature? Get<TFeature>()
    {
        // A constant for the compiler. As in Kestrel, an absent one is an error if any unknown feature was set.
        if (typeof(TFeature).IsValueType)
            return Array.Exists(_others, IsUnknown) ? (TFeature?)this[typeof(TFeature)] : default;

        ref var field = ref FindField(typeof(TFeature));
        if (!Unsafe.IsNullRef(ref field))
            return As<TFeature>(field);

        return TryFindOther(typeof(TFeature), out var other)
            ? (TFeature?)other
            : As<TFeature>(GetOwn(typeof(TFeature)));
    }

    public void Set<TFeature>(TFeature? instance) => this[typeof(TFeature)] = instance;

    public IEnumerator<KeyValuePair<Type, object>> GetEnumerator()
    {
        foreach (var (type, value) in _others)
        {
            if (value is not null)
                yield return new(type, value);
        }

        foreach (var type in s_ownTypes)
        {
            if (!TryFindOther(type, out _) && this[type] is { } value)
                yield return new(type, value);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private static readonly Type[] s_ownTypes =
    [
        typeof(IHttpRequestFeature), typeof(IEndpointFeature), typeof(IRouteValuesFeature),
        typeof(IHttpRequestBodyDetectionFeature), typeof(IHttpRequestIdentifierFeature),
        typeof(IHttpRequestLifetimeFeature), typeof(IHttpConnectionFeature), typeof(IHttpBodyControlFeature),
        typeof(IHttpMaxRequestBodySizeFeature), typeof(IHttpMinRequestBodyDataRateFeature),
        typeof(IRequestBodyPipeFeature), typeof(IServerVariablesFeature),
        typeof(IHttpResponseFeature), typeof(IHttpResponseBodyFeature), typeof(IItemsFeature),
        typeof(IServiceProvidersFeature), typeof(IQueryFeature), typeof(IHttpAuthenticationFeature),
        typeof(IBadRequestExceptionFeature), typeof(IFastCgiRequestFeature), typeof(ITlsConnectionFeature),
    ];

    /// <summary>
    /// Absent on purpose: upgrade and extended CONNECT, which no web server passes (SignalR would offer WebSockets);
    /// trailers and reset; connection items and persistent state, which unrelated clients would share.
    /// </summary>
    private object? GetOwn(Type key)
    {
        if (key == typeof(IHttpResponseFeature) || key == typeof(IHttpResponseBodyFeature)
            || key == typeof(IHttpBodyControlFeature))
            return Response;
        if (key == typeof(ITlsConnectionFeature))
            return TlsConnection;
        if (key == typeof(IHttpConnectionFeature))
            return Addresses;

        return IsOwn(key) ? this : null;
    }

    private static bool IsOwn(Type key)
    {
        foreach (var own in s_ownTypes)
        {
            if (own == key)
                return true;
        }

        return false;
    }

    private static bool IsUnknown(KeyValuePair<Type, object?> other)
        => other.Key.Namespace != typeof(IHttpRequestFeature).Namespace;

    private ref object? FindField(Type key)
    {
        if (key == typeof(IItemsFeature))
            return ref _items;
        if (key == typeof(IServiceProvidersFeature))
            return ref _serviceProviders;
        if (key == typeof(IQueryFeature))
            return ref _query;
        if (key == typeof(IHttpAuthenticationFeature))
            return ref _authentication;

        return ref Unsafe.NullRef<object?>();
    }

    private bool TryFindOther(Type key, out object? value)
    {
        var others = Volatile.Read(ref _others);
        var index = IndexOf(others, key);
        value = index < 0 ? null : others[index].Value;
        return index >= 0;
    }

    private void SetOther(Type key, object? value)
    {
        KeyValuePair<Type, object?>[] before;
        KeyValuePair<Type, object?>[] after;
        do
        {
            before = Volatile.Read(ref _others);
            var index = IndexOf(before, key);
            after = index < 0 ? [.. before, default] : [.. before];
            after[index < 0 ? ^1 : index] = new(key, value);
        }
        while (Interlocked.CompareExchange(ref _others, after, before) != before);

        if (key == typeof(IHttpRequestFeature) || key == typeof(IHttpConnectionFeature))
            Lazy.HasNewOrigin = true;
    }

    private static int IndexOf(KeyValuePair<Type, object?>[] entries, Type key)
    {
        for (var i = 0; i < entries.Length; i++)
        {
            if (entries[i].Key == key)
                return i;
        }

        return -1;
    }

    /// <summary>Skips the cast, which is slow in shared code, of an instance of a reference type.</summary>
    private static T? As<T>(object? feature) => Unsafe.As<object?, T?>(ref feature);
}
