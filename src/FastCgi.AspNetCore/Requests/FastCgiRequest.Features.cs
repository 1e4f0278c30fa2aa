using System.Collections;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The request as <see cref="IFeatureCollection"/>. What it implements itself is found by type; what the framework sets on nearly
/// every request has a field; everything else, and whatever replaces a feature of the request's own, is in a short list.
/// </content>
internal abstract partial class FastCgiRequest : IEndpointFeature, IRouteValuesFeature
{
    private FeatureList? _others;
    private IItemsFeature? _items;
    private IServiceProvidersFeature? _serviceProviders;
    private IQueryFeature? _query;
    private IHttpAuthenticationFeature? _authentication;
    private Endpoint? _endpoint;
    private RouteValueDictionary? _routeValues;
    private int _revision;

    /// <inheritdoc/>
    public bool IsReadOnly => false;

    /// <inheritdoc/>
    public int Revision => Volatile.Read(ref _revision);

    /// <inheritdoc/>
    public object? this[Type key]
    {
        get
        {
            ArgumentNullException.ThrowIfNull(key);
            return _others is { } others && others.TryFind(key, out var other) ? other : GetField(key) ?? GetOwn(key);
        }

        set
        {
            ArgumentNullException.ThrowIfNull(key);
            if (!SetField(key, value))
                Others.Set(key, value);
            OnChanged();
        }
    }

    Endpoint? IEndpointFeature.Endpoint
    {
        get => _endpoint;
        set => _endpoint = value;
    }

    RouteValueDictionary IRouteValuesFeature.RouteValues
    {
        get => _routeValues ?? Keep(ref _routeValues, []);
        set => _routeValues = value;
    }

    /// <inheritdoc/>
    public TFeature? Get<TFeature>()
    {
        // The JIT keeps one branch per feature type.
        if (typeof(TFeature) == typeof(IItemsFeature))
            return As<TFeature>(_items);
        if (typeof(TFeature) == typeof(IServiceProvidersFeature))
            return As<TFeature>(_serviceProviders);
        if (typeof(TFeature) == typeof(IQueryFeature))
            return As<TFeature>(_query);
        if (typeof(TFeature) == typeof(IHttpAuthenticationFeature))
            return As<TFeature>(_authentication);

        if (_others is { } others && others.TryFind(typeof(TFeature), out var other))
            return (TFeature?)other;

        if (typeof(TFeature) == typeof(IHttpRequestFeature) || typeof(TFeature) == typeof(IEndpointFeature) || typeof(TFeature) == typeof(IRouteValuesFeature))
            return As<TFeature>(this);
        if (typeof(TFeature) == typeof(IHttpResponseFeature) || typeof(TFeature) == typeof(IHttpResponseBodyFeature))
            return As<TFeature>(Response);

        return (TFeature?)GetOwn(typeof(TFeature));
    }

    /// <inheritdoc/>
    public void Set<TFeature>(TFeature? instance)
    {
        if (typeof(TFeature) == typeof(IItemsFeature))
            _items = As<IItemsFeature>(instance);
        else if (typeof(TFeature) == typeof(IServiceProvidersFeature))
            _serviceProviders = As<IServiceProvidersFeature>(instance);
        else if (typeof(TFeature) == typeof(IQueryFeature))
            _query = As<IQueryFeature>(instance);
        else if (typeof(TFeature) == typeof(IHttpAuthenticationFeature))
            _authentication = As<IHttpAuthenticationFeature>(instance);
        else
            Others.Set(typeof(TFeature), instance);
        OnChanged();
    }

    /// <inheritdoc/>
    public IEnumerator<KeyValuePair<Type, object>> GetEnumerator()
    {
        foreach (var other in _others?.Enumerate() ?? [])
            yield return other;

        foreach (var type in s_fieldTypes)
        {
            if (GetField(type) is { } value)
                yield return new(type, value);
        }

        foreach (var type in s_ownTypes)
        {
            if (_others?.TryFind(type, out _) is not true && GetOwn(type) is { } value)
                yield return new(type, value);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private static readonly Type[] s_fieldTypes =
    [
        typeof(IItemsFeature), typeof(IServiceProvidersFeature), typeof(IQueryFeature), typeof(IHttpAuthenticationFeature),
    ];

    private static readonly Type[] s_ownTypes =
    [
        typeof(IHttpRequestFeature), typeof(IHttpRequestBodyDetectionFeature), typeof(IHttpRequestIdentifierFeature),
        typeof(IHttpRequestLifetimeFeature), typeof(IHttpConnectionFeature), typeof(IHttpBodyControlFeature),
        typeof(IHttpMaxRequestBodySizeFeature), typeof(IHttpMinRequestBodyDataRateFeature), typeof(IRequestBodyPipeFeature), typeof(IServerVariablesFeature),
        typeof(IHttpResponseFeature), typeof(IHttpResponseBodyFeature), typeof(IEndpointFeature), typeof(IRouteValuesFeature),
        typeof(IBadRequestExceptionFeature), typeof(IFastCgiRequestFeature), typeof(ITlsConnectionFeature), typeof(ITlsHandshakeFeature),
        typeof(IFastCgiFilterFeature),
    ];

    /// <summary>
    /// The features of the request's own. Absent on purpose: upgrade and extended CONNECT, for no front-end can carry them (SignalR
    /// would offer WebSockets if they were there); trailers and reset; items and persistent state of the connection, which unrelated
    /// clients share.
    /// </summary>
    private object? GetOwn(Type key)
    {
        if (key == typeof(IHttpResponseFeature) || key == typeof(IHttpResponseBodyFeature))
            return Response;
        if (key == typeof(ITlsConnectionFeature))
            return TlsConnection;
        if (key == typeof(ITlsHandshakeFeature))
            return TlsHandshake;
        if (key == typeof(IFastCgiFilterFeature))
            return Role == FastCgiRole.Filter ? this : null;

        return Array.IndexOf(s_ownTypes, key) >= 0 ? this : null;
    }

    private object? GetField(Type key)
    {
        if (key == typeof(IItemsFeature))
            return _items;
        if (key == typeof(IServiceProvidersFeature))
            return _serviceProviders;
        if (key == typeof(IQueryFeature))
            return _query;
        return key == typeof(IHttpAuthenticationFeature) ? _authentication : null;
    }

    private bool SetField(Type key, object? value)
    {
        if (key == typeof(IItemsFeature))
            _items = (IItemsFeature?)value;
        else if (key == typeof(IServiceProvidersFeature))
            _serviceProviders = (IServiceProvidersFeature?)value;
        else if (key == typeof(IQueryFeature))
            _query = (IQueryFeature?)value;
        else if (key == typeof(IHttpAuthenticationFeature))
            _authentication = (IHttpAuthenticationFeature?)value;
        else
            return false;

        return true;
    }

    /// <summary>After the change, so that nobody caches the feature of before under the new revision.</summary>
    private void OnChanged() => Interlocked.Increment(ref _revision);

    private FeatureList Others => _others ?? Keep(ref _others, new FeatureList());

    private static T? As<T>(object? feature) => Unsafe.As<object?, T?>(ref feature);
}
