using System.Collections;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The request as <see cref="IFeatureCollection"/>. What it implements itself is found by type; what the framework sets on nearly
/// every request has a field; everything else, and whatever replaces a feature of the request's own, is in a short list.
/// </content>
internal abstract partial class FastCgiRequest : IEndpointFeature, IRouteValuesFeature
{
    private readonly List<KeyValuePair<Type, object?>> _others = [];
    private IItemsFeature? _items;
    private IServiceProvidersFeature? _serviceProviders;
    private IHttpActivityFeature? _activity;
    private IHttpMetricsTagsFeature? _metricsTags;
    private IQueryFeature? _query;
    private IFormFeature? _form;
    private IHttpAuthenticationFeature? _authentication;
    private IResponseCookiesFeature? _responseCookies;
    private Endpoint? _endpoint;
    private RouteValueDictionary? _routeValues;
    private bool _isOver = true;

    /// <inheritdoc/>
    public bool IsReadOnly => false;

    /// <inheritdoc/>
    public int Revision { get; private set; }

    /// <inheritdoc/>
    public object? this[Type key]
    {
        get
        {
            ArgumentNullException.ThrowIfNull(key);
            return FindOther(key) is { } position ? _others[position].Value : GetField(key) ?? GetOwn(key);
        }

        set
        {
            ArgumentNullException.ThrowIfNull(key);
            ThrowIfOver();
            Revision++;
            if (!SetField(key, value))
                SetOther(key, value);
        }
    }

    Endpoint? IEndpointFeature.Endpoint
    {
        get => _endpoint;
        set
        {
            ThrowIfOver();
            _endpoint = value;
        }
    }

    RouteValueDictionary IRouteValuesFeature.RouteValues
    {
        get => _routeValues ??= [];
        set
        {
            ThrowIfOver();
            _routeValues = value;
        }
    }

    /// <inheritdoc/>
    public TFeature? Get<TFeature>()
    {
        // The JIT keeps one branch per feature type.
        if (typeof(TFeature) == typeof(IItemsFeature))
            return As<TFeature>(_items);
        if (typeof(TFeature) == typeof(IServiceProvidersFeature))
            return As<TFeature>(_serviceProviders);
        if (typeof(TFeature) == typeof(IHttpActivityFeature))
            return As<TFeature>(_activity);
        if (typeof(TFeature) == typeof(IHttpMetricsTagsFeature))
            return As<TFeature>(_metricsTags);
        if (typeof(TFeature) == typeof(IQueryFeature))
            return As<TFeature>(_query);
        if (typeof(TFeature) == typeof(IFormFeature))
            return As<TFeature>(_form);
        if (typeof(TFeature) == typeof(IHttpAuthenticationFeature))
            return As<TFeature>(_authentication);
        if (typeof(TFeature) == typeof(IResponseCookiesFeature))
            return As<TFeature>(_responseCookies);

        if (_others.Count > 0 && FindOther(typeof(TFeature)) is { } position)
            return (TFeature?)_others[position].Value;

        if (typeof(TFeature) == typeof(IHttpRequestFeature) || typeof(TFeature) == typeof(IEndpointFeature) || typeof(TFeature) == typeof(IRouteValuesFeature))
            return As<TFeature>(this);
        if (typeof(TFeature) == typeof(IHttpResponseFeature) || typeof(TFeature) == typeof(IHttpResponseBodyFeature))
            return As<TFeature>(Response);

        return (TFeature?)GetOwn(typeof(TFeature));
    }

    /// <inheritdoc/>
    public void Set<TFeature>(TFeature? instance)
    {
        ThrowIfOver();
        Revision++;
        if (typeof(TFeature) == typeof(IItemsFeature))
            _items = As<IItemsFeature>(instance);
        else if (typeof(TFeature) == typeof(IServiceProvidersFeature))
            _serviceProviders = As<IServiceProvidersFeature>(instance);
        else if (typeof(TFeature) == typeof(IHttpActivityFeature))
            _activity = As<IHttpActivityFeature>(instance);
        else if (typeof(TFeature) == typeof(IHttpMetricsTagsFeature))
            _metricsTags = As<IHttpMetricsTagsFeature>(instance);
        else if (typeof(TFeature) == typeof(IQueryFeature))
            _query = As<IQueryFeature>(instance);
        else if (typeof(TFeature) == typeof(IFormFeature))
            _form = As<IFormFeature>(instance);
        else if (typeof(TFeature) == typeof(IHttpAuthenticationFeature))
            _authentication = As<IHttpAuthenticationFeature>(instance);
        else if (typeof(TFeature) == typeof(IResponseCookiesFeature))
            _responseCookies = As<IResponseCookiesFeature>(instance);
        else
            SetOther(typeof(TFeature), instance);
    }

    /// <inheritdoc/>
    public IEnumerator<KeyValuePair<Type, object>> GetEnumerator()
    {
        foreach (var (type, value) in _others)
        {
            if (value is not null)
                yield return new(type, value);
        }

        foreach (var type in s_fieldTypes)
        {
            if (GetField(type) is { } value)
                yield return new(type, value);
        }

        foreach (var type in s_ownTypes)
        {
            if (FindOther(type) is null && GetOwn(type) is { } value)
                yield return new(type, value);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private static readonly Type[] s_fieldTypes =
    [
        typeof(IItemsFeature), typeof(IServiceProvidersFeature), typeof(IHttpActivityFeature), typeof(IHttpMetricsTagsFeature),
        typeof(IQueryFeature), typeof(IFormFeature), typeof(IHttpAuthenticationFeature), typeof(IResponseCookiesFeature),
    ];

    private static readonly Type[] s_ownTypes =
    [
        typeof(IHttpRequestFeature), typeof(IHttpRequestBodyDetectionFeature), typeof(IHttpRequestIdentifierFeature),
        typeof(IHttpRequestLifetimeFeature), typeof(IHttpConnectionFeature), typeof(IHttpBodyControlFeature),
        typeof(IHttpMaxRequestBodySizeFeature), typeof(IRequestBodyPipeFeature), typeof(IServerVariablesFeature),
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
        if (key == typeof(IHttpActivityFeature))
            return _activity;
        if (key == typeof(IHttpMetricsTagsFeature))
            return _metricsTags;
        if (key == typeof(IQueryFeature))
            return _query;
        if (key == typeof(IFormFeature))
            return _form;
        if (key == typeof(IHttpAuthenticationFeature))
            return _authentication;
        return key == typeof(IResponseCookiesFeature) ? _responseCookies : null;
    }

    private bool SetField(Type key, object? value)
    {
        if (key == typeof(IItemsFeature))
            _items = (IItemsFeature?)value;
        else if (key == typeof(IServiceProvidersFeature))
            _serviceProviders = (IServiceProvidersFeature?)value;
        else if (key == typeof(IHttpActivityFeature))
            _activity = (IHttpActivityFeature?)value;
        else if (key == typeof(IHttpMetricsTagsFeature))
            _metricsTags = (IHttpMetricsTagsFeature?)value;
        else if (key == typeof(IQueryFeature))
            _query = (IQueryFeature?)value;
        else if (key == typeof(IFormFeature))
            _form = (IFormFeature?)value;
        else if (key == typeof(IHttpAuthenticationFeature))
            _authentication = (IHttpAuthenticationFeature?)value;
        else if (key == typeof(IResponseCookiesFeature))
            _responseCookies = (IResponseCookiesFeature?)value;
        else
            return false;

        return true;
    }

    private void SetOther(Type key, object? value)
    {
        var entry = new KeyValuePair<Type, object?>(key, value);
        if (FindOther(key) is { } position)
            _others[position] = entry;
        else
            _others.Add(entry);
    }

    private int? FindOther(Type key)
    {
        for (var i = 0; i < _others.Count; i++)
        {
            if (_others[i].Key == key)
                return i;
        }

        return null;
    }

    private void BeginFeatures()
    {
        // DefaultHttpContext keeps features by revision: it must not take those of the request before for ours.
        Revision++;
        _isOver = false;
    }

    private void EndFeatures()
    {
        _isOver = true;
        Revision++;
        _others.Clear();
        _items = null;
        _serviceProviders = null;
        _activity = null;
        _metricsTags = null;
        _query = null;
        _form = null;
        _authentication = null;
        _responseCookies = null;
        _endpoint = null;
        _routeValues = null;
    }

    private static T? As<T>(object? feature) => Unsafe.As<object?, T?>(ref feature);
}
