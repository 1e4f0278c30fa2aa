using System.Globalization;
using System.Reflection;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The public members of an assembly as text: one line each, sorted by name.</summary>
internal static class PublicApi
{
    private const BindingFlags Public =
        BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static;

    private static readonly NullabilityInfoContext s_nullability = new();

    private static readonly Dictionary<Type, string> s_keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(byte)] = "byte",
        [typeof(int)] = "int",
        [typeof(long)] = "long",
        [typeof(ushort)] = "ushort",
        [typeof(uint)] = "uint",
    };

    /// <summary>Compares with a file, and writes the current list next to the test.</summary>
    public static void AssertIs(Assembly assembly, string snapshot)
    {
        var written = Path.Combine(AppContext.BaseDirectory, "PublicApi.txt");
        var expected = File.ReadAllLines(Repository.GetPath(snapshot));
        var actual = Describe(assembly).ToArray();
        File.WriteAllLines(written, actual);

        var differences = Difference(expected, actual, "- ").Concat(Difference(actual, expected, "+ ")).ToArray();
        Assert.True(
            differences.Length == 0,
            $"{snapshot} and the public members differ; {written} has them as they are now:\n"
                + $"{string.Join('\n', differences)}");
        Assert.Equal(expected, actual);
    }

    private static IEnumerable<string> Describe(Assembly assembly)
        => assembly.GetExportedTypes()
            .OrderBy(static type => type.FullName, StringComparer.Ordinal).SelectMany(DescribeType);

    /// <summary>The members, each with its type, that only the first list has.</summary>
    private static IEnumerable<string> Difference(string[] lines, string[] others, string sign)
        => Qualify(lines).Except(Qualify(others)).Select(line => sign + line);

    private static IEnumerable<string> Qualify(string[] lines)
    {
        var type = "";
        foreach (var line in lines)
        {
            var isMember = line.StartsWith(' ');
            if (!isMember)
                type = line;
            yield return isMember ? $"{type} {{ {line.Trim()} }}" : line;
        }
    }

    private static IEnumerable<string> DescribeType(Type type)
    {
        yield return $"{GetKind(type)} {type.FullName}{GetBases(type)}";
        var members = type.IsEnum
            ? Enum.GetNames(type).Select(name => string.Create(
                CultureInfo.InvariantCulture, $"{name} = {Enum.Format(type, Enum.Parse(type, name), "d")}"))
            : type.GetMembers(Public).Select(DescribeMember).OfType<string>().Order(StringComparer.Ordinal);
        foreach (var member in members)
            yield return "    " + member;
    }

    private static string GetKind(Type type) => type switch
    {
        { IsEnum: true } => "enum",
        { IsInterface: true } => "interface",
        { IsValueType: true } => "struct",
        { IsAbstract: true, IsSealed: true } => "static class",
        { IsAbstract: true } => "abstract class",
        { IsSealed: true } => "sealed class",
        _ => "class",
    };

    private static string GetBases(Type type)
    {
        if (type.IsEnum)
            return "";

        var bases = new[] { type.BaseType }.Where(
            static @base => @base is not null && @base != typeof(object) && @base != typeof(ValueType))
            .Concat(type.GetInterfaces()).Select(static @base => GetName(@base!)).ToList();
        return bases.Count == 0 ? "" : " : " + string.Join(", ", bases);
    }

    private static string? DescribeMember(MemberInfo member) => member switch
    {
        ConstructorInfo constructor => $"{member.DeclaringType!.Name}({GetParameters(constructor)})",
        PropertyInfo property => DescribeProperty(property),
        FieldInfo field => $"{(field.IsLiteral ? "const " : "")}{GetName(s_nullability.Create(field))} {field.Name}",
        EventInfo @event => $"event {GetName(s_nullability.Create(@event))} {@event.Name}",
        MethodInfo { IsSpecialName: false } method => DescribeMethod(method),
        _ => null,
    };

    private static string DescribeProperty(PropertyInfo property)
    {
        var accessors = property.SetMethod is { IsPublic: true } ? "get; set;" : "get;";
        return $"{GetStatic(property.GetMethod!)}{GetName(s_nullability.Create(property))} "
            + $"{GetPropertyName(property)} {{ {accessors} }}";
    }

    private static string DescribeMethod(MethodInfo method)
    {
        var returnType = GetName(s_nullability.Create(method.ReturnParameter));
        return $"{GetStatic(method)}{returnType} {method.Name}{GetTypeParameters(method)}({GetParameters(method)})";
    }

    private static string GetStatic(MethodInfo method) => method.IsStatic ? "static " : "";

    private static string GetPropertyName(PropertyInfo property)
        => property.GetIndexParameters() is []
            ? property.Name
            : $"this[{string.Join(", ", property.GetIndexParameters().Select(DescribeParameter))}]";

    private static string GetTypeParameters(MethodInfo method)
        => method.IsGenericMethod
            ? $"<{string.Join(", ", method.GetGenericArguments().Select(static argument => argument.Name))}>"
            : "";

    private static string GetParameters(MethodBase method)
    {
        var isExtension = method.IsDefined(typeof(System.Runtime.CompilerServices.ExtensionAttribute), inherit: false);
        return (isExtension ? "this " : "") + string.Join(", ", method.GetParameters().Select(DescribeParameter));
    }

    private static string DescribeParameter(ParameterInfo parameter)
    {
        var text = $"{GetName(s_nullability.Create(parameter))} {parameter.Name}";
        return parameter.HasDefaultValue ? string.Create(
            CultureInfo.InvariantCulture, $"{text} = {parameter.DefaultValue ?? "null"}") : text;
    }

    private static string GetName(NullabilityInfo info)
    {
        var isNullableReference = info.ReadState == NullabilityState.Nullable && !info.Type.IsValueType;
        var name = info.Type.IsGenericType && Nullable.GetUnderlyingType(info.Type) is null
            ? $"{GetSimpleName(info.Type)}<{string.Join(", ", info.GenericTypeArguments.Select(GetName))}>"
            : GetName(info.Type);
        return isNullableReference ? name + "?" : name;
    }

    private static string GetName(Type type)
    {
        if (Nullable.GetUnderlyingType(type) is { } underlying)
            return GetName(underlying) + "?";
        if (type.IsArray)
            return GetName(type.GetElementType()!) + "[]";
        if (type.IsGenericType)
            return $"{GetSimpleName(type)}<{string.Join(", ", type.GetGenericArguments().Select(GetName))}>";
        return s_keywords.GetValueOrDefault(type, type.Name);
    }

    private static string GetSimpleName(Type type) => type.Name[..type.Name.IndexOf('`', StringComparison.Ordinal)];
}
