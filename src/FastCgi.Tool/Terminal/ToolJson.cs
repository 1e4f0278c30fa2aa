using System.Text.Json.Serialization;
using FastCgi.Tool.Commands.Check;
using FastCgi.Tool.Commands.Configuration;
using FastCgi.Tool.Commands.Doctor;
using FastCgi.Tool.Commands.Proxy;
using FastCgi.Tool.Commands.Request;

namespace FastCgi.Tool.Terminal;

/// <summary>What <c>--json</c> writes.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(ErrorDocument))]
[JsonSerializable(typeof(RequestDocument))]
[JsonSerializable(typeof(CheckDocument))]
[JsonSerializable(typeof(ConfigDocument))]
[JsonSerializable(typeof(DoctorDocument))]
[JsonSerializable(typeof(System.Text.Json.JsonElement))]
[JsonSerializable(typeof(ProxiedRequest))]
[JsonSerializable(typeof(RecordingLine))]
[JsonSerializable(typeof(RepeatDocument))]
internal sealed partial class ToolJson : JsonSerializerContext;

/// <summary>Why there is no result.</summary>
internal sealed record ErrorDocument(string Error);
