namespace FastCgi.Tool.Commands;

internal static class RecordNames
{
    public static string Get(RecordType type) => Enum.IsDefined(type)
        ? JsonNamingPolicy.SnakeCaseUpper.ConvertName($"{type}")
        : $"type {(int)type}";
}
