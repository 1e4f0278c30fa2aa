using System.Buffers.Binary;
using System.Reflection.Emit;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The types that a type's metadata and code refer to: bases, members, locals, operands.</summary>
internal static class TypeReferences
{
    private const BindingFlags Declared =
        BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic
            | BindingFlags.Static | BindingFlags.Instance;

    private static readonly Dictionary<int, OpCode> s_opCodes =
        typeof(OpCodes).GetFields().Select(static field => (OpCode)field.GetValue(null)!).ToDictionary(
            static opCode => opCode.Value & 0xffff);

    public static IReadOnlySet<Type> Of(Type type)
    {
        var references = new HashSet<Type>();
        Add(references, type.BaseType);
        AddAll(references, type.GetInterfaces());
        AddAll(
            references,
            type.GetGenericArguments().SelectMany(static argument => argument.GetGenericParameterConstraints()));
        AddAll(references, type.GetFields(Declared).Select(static field => field.FieldType));
        AddAll(references, type.GetProperties(Declared).Select(static property => property.PropertyType));
        foreach (var method in type.GetMethods(Declared).Concat<MethodBase>(type.GetConstructors(Declared)))
        {
            AddSignature(references, method);
            AddCode(references, method);
        }

        return references;
    }

    private static void AddSignature(HashSet<Type> references, MethodBase method)
    {
        AddAll(references, method.GetParameters().Select(static parameter => parameter.ParameterType));
        if (method is MethodInfo { ReturnType: var returnType })
            Add(references, returnType);
        if (method.IsGenericMethod)
            AddAll(references, method.GetGenericArguments());
    }

    private static void AddCode(HashSet<Type> references, MethodBase method)
    {
        if (method.GetMethodBody() is not { } body)
            return;

        AddAll(references, body.LocalVariables.Select(static local => local.LocalType));
        var catches = body.ExceptionHandlingClauses.Where(
            static clause => clause.Flags == ExceptionHandlingClauseOptions.Clause);
        AddAll(references, catches.Select(static clause => clause.CatchType));
        foreach (var token in GetTokens(body.GetILAsByteArray()!))
        {
            var arguments = (
                Type: method.DeclaringType!.GetGenericArguments(),
                Method: method.IsGenericMethod ? method.GetGenericArguments() : []);
            var member = method.Module.ResolveMember(token, arguments.Type, arguments.Method);
            Add(references, member as Type ?? member!.DeclaringType);
            if (member is MethodBase called)
                AddSignature(references, called);
            else if (member is FieldInfo field)
                Add(references, field.FieldType);
        }
    }

    /// <summary>The tokens of types and members in the code (ECMA-335, partition III).</summary>
    private static IEnumerable<int> GetTokens(byte[] code)
    {
        for (var at = 0; at < code.Length;)
        {
            var opCode = s_opCodes[code[at] == 0xfe ? 0xfe00 | code[at + 1] : code[at]];
            at += opCode.Size;
            if (opCode.OperandType is OperandType.InlineField or OperandType.InlineMethod
                or OperandType.InlineTok or OperandType.InlineType)
                yield return BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(at));
            at += GetOperandSize(opCode.OperandType, code, at);
        }
    }

    private static int GetOperandSize(OperandType operandType, byte[] code, int at) => operandType switch
    {
        OperandType.InlineNone => 0,
        OperandType.ShortInlineBrTarget or OperandType.ShortInlineI or OperandType.ShortInlineVar => 1,
        OperandType.InlineVar => 2,
        OperandType.InlineI8 or OperandType.InlineR => 8,
        OperandType.InlineSwitch => 4 + (4 * BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(at))),
        _ => 4,
    };

    private static void AddAll(HashSet<Type> references, IEnumerable<Type?> types)
    {
        foreach (var type in types)
            Add(references, type);
    }

    private static void Add(HashSet<Type> references, Type? type)
    {
        if (type is null || type.IsGenericParameter)
            return;

        if (type.HasElementType)
            Add(references, type.GetElementType());
        else if (references.Add(type) && type.IsGenericType)
            AddAll(references, type.GetGenericArguments());
    }
}
