#:property PublishAot=false
#:property TreatWarningsAsErrors=false

// Removes non-public members from an assembly's documentation file, which editors load with each project.
//   dotnet run --file PublicDocumentation.cs ASSEMBLY DOCUMENTATION
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Xml.Linq;

using var stream = File.OpenRead(args[0]);
using var image = new PEReader(stream);
var metadata = image.GetMetadataReader();
var visible = new HashSet<string>(StringComparer.Ordinal);
foreach (var type in metadata.TypeDefinitions.Select(metadata.GetTypeDefinition).Where(IsVisible))
{
    var typeName = GetName(type);
    visible.Add(typeName);
    foreach (var method in type.GetMethods().Select(metadata.GetMethodDefinition)
        .Where(method => IsVisibleMember((int)method.Attributes)))
        visible.Add($"{typeName}.{metadata.GetString(method.Name).Replace('.', '#')}");
    foreach (var field in type.GetFields().Select(metadata.GetFieldDefinition)
        .Where(field => IsVisibleMember((int)field.Attributes)))
        visible.Add($"{typeName}.{metadata.GetString(field.Name)}");
}

var document = XDocument.Load(args[1], LoadOptions.PreserveWhitespace);
var members = document.Descendants("member").ToList();
foreach (var member in members.Where(member => !IsPublic(member.Attribute("name")!.Value)))
    member.Remove();
document.Save(args[1]);

bool IsVisible(TypeDefinition type)
{
    var visibility = type.Attributes & TypeAttributes.VisibilityMask;
    return visibility == TypeAttributes.Public
        || (visibility is TypeAttributes.NestedPublic or TypeAttributes.NestedFamily or TypeAttributes.NestedFamORAssem
            && IsVisible(metadata.GetTypeDefinition(type.GetDeclaringType())));
}

// The numbers are the same for methods and fields.
static bool IsVisibleMember(int attributes)
    => (MethodAttributes)(attributes & (int)MethodAttributes.MemberAccessMask) is MethodAttributes.Public or MethodAttributes.Family or MethodAttributes.FamORAssem;

string GetName(TypeDefinition type)
{
    var name = metadata.GetString(type.Name);
    if (!type.GetDeclaringType().IsNil)
        return $"{GetName(metadata.GetTypeDefinition(type.GetDeclaringType()))}.{name}";
    return type.Namespace.IsNil ? name : $"{metadata.GetString(type.Namespace)}.{name}";
}

// P:Type.Property has accessors, E:Type.Event too; M:Type.Method``1(System.Int32) is a method.
bool IsPublic(string id)
{
    var path = id[2..].Split('(', '~')[0].Split("``")[0];
    var dot = path.LastIndexOf('.');
    string Accessor(string prefix) => $"{path[..dot]}.{prefix}{path[(dot + 1)..]}";
    return id[0] switch
    {
        'P' => visible.Contains(Accessor("get_")) || visible.Contains(Accessor("set_")),
        'E' => visible.Contains(Accessor("add_")),
        _ => visible.Contains(path),
    };
}
