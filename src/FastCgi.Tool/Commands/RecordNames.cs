namespace FastCgi.Tool.Commands;

internal static class RecordNames
{
    private static readonly string[] s_names =
    [
        "", "BEGIN_REQUEST", "ABORT_REQUEST", "END_REQUEST", "PARAMS", "STDIN", "STDOUT", "STDERR", "DATA",
            "GET_VALUES", "GET_VALUES_RESULT", "UNKNOWN_TYPE",
    ];

    public static string Get(RecordType type)
        => type > 0 && (int)type < s_names.Length ? s_names[(int)type] : $"type {(int)type}";
}
