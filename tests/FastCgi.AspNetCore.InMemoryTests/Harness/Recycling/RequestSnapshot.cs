using System.Collections;
using System.Globalization;
using System.Reflection;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// All that a request object has in its fields and in those of its parts, by the names of the fields, as far as it is not as in a new object:
/// a part that was made and is empty counts as none.
/// </summary>
internal static class RequestSnapshot
{
    // What the request does not own.
    private static readonly Type[] s_others = [typeof(ServerContext), typeof(RequestConnection), typeof(RecordOutput), typeof(ResponseSettings), typeof(BufferPool)];

    // What changes with each request, or is kept for the next one because it is empty.
    private static readonly string[] s_kept =
    [
        "_generation", "_wireGeneration", "_revision", "Version", "_traceName", "application",
        // Of an array, what counts is how much of it is used; of a lease, its length.
        "_entries", "_isLeaseUsed",
        // Each read says it anew.
        "_maxLength",
        // It was not cancelled, or it would not be there.
        "_abortedSource",
        // They refer to the object alone.
        "_onApplicationReturned", "requestLock",
    ];

    public static HashSet<string> Take(FastCgiRequest request)
    {
        var found = new HashSet<string>();
        Walk(string.Empty, request, new HashSet<object>(ReferenceEqualityComparer.Instance), found);
        return found;
    }

    private static void Walk(string path, object part, HashSet<object> seen, HashSet<string> found)
    {
        if (!part.GetType().IsValueType && !seen.Add(part))
            return;

        for (var type = part.GetType(); IsPart(type); type = type.BaseType!)
        {
            foreach (var field in type.GetFields(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.DeclaredOnly))
                Note($"{path}.{NameOf(field)}", field, part, seen, found);
        }
    }

    private static void Note(string path, FieldInfo field, object part, HashSet<object> seen, HashSet<string> found)
    {
        if (s_kept.Contains(NameOf(field)) || Array.Exists(s_others, other => other.IsAssignableFrom(field.FieldType)))
            return;

        var value = field.GetValue(part);
        if (value is null || (field.FieldType.IsValueType && !field.FieldType.IsPointer && value.Equals(Activator.CreateInstance(field.FieldType))))
            return;

        if (value is FeatureList features)
            found.UnionWith(features.Enumerate().Select(feature => $"{path} = {feature.Key.Name}"));
        else if (IsPart(value.GetType()))
            Walk(path, value, seen, found);
        else if (value is not ICollection { Count: 0 })
            found.Add($"{path} = {(value is IConvertible ? Convert.ToString(value, CultureInfo.InvariantCulture) : value.GetType().Name)}");
    }

    private static bool IsPart(Type type)
        => !type.IsEnum && !type.IsArray && type.Namespace is "FastCgi.AspNetCore.Requests" or "FastCgi.AspNetCore.Responses" or "FastCgi.AspNetCore.Cgi";

    /// <summary>That of a property where it is the field of one.</summary>
    private static string NameOf(FieldInfo field) => field.Name.Split('<', '>') is [_, var name, _] ? name : field.Name;
}
