using FastCgi.AspNetCore.Protocol;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Name-value pairs (section 3.4).</summary>
internal static class ParamsChecks
{
    public static IEnumerable<CheckCase> All =>
    [
        new("lengths", "Lengths have one byte up to 127 and four beyond: all four forms of a pair are read", "3.4",
            context => context.ExpectSameAsync(context.CreateGet(
            extra: [("HTTP_X_A", new string('v', 127)), ("HTTP_X_B", new string('v', 128)), ($"HTTP_{new string('X', 150)}", "v"),
                ($"HTTP_{new string('Y', 150)}", new string('v', 300))]))),
        new("long-lengths", "A length up to 127 in four bytes can be read, and need not", "3.4", LongLengthsAsync),
        new("byte-per-record", "PARAMS may be cut anywhere: here each byte is a record", "3.3, 3.4", context => context.ExpectSameAsync(
            [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams(), size: 1), .. Record(RecordType.Stdin, 1)])),
        new("cut-pairs", "PARAMS in records of 7 bytes, with lengths, names and values cut", "3.3, 3.4", context => context.ExpectSameAsync(
            [.. Begin(), .. Stream(RecordType.Params, 1, context.CreateParams(extra: [("HTTP_X_LONG", new string('v', 300))]), size: 7),
                .. Record(RecordType.Stdin, 1)])),
        new("empty-value", "A value may be empty", "3.4", context => context.ExpectSameAsync(context.CreateGet(extra: [("HTTP_X_EMPTY", "")]))),
        new("empty-name", "A name may be empty, as far as the encoding goes", "3.4",
            context => ChoiceAsync(context, context.CreateGet(extra: [("", "value")]))),
        new("repeated-name", "A name may stand there twice", "3.4",
            context => context.ExpectSameAsync(context.CreateGet(extra: [("HTTP_X_TWICE", "1"), ("HTTP_X_TWICE", "2")]))),
        new("large", "PARAMS of 60 KB fit into a record; whether they are taken is open", "3.3",
            context => ChoiceAsync(context, context.CreateGet(extra: [("HTTP_X_LARGE", new string('v', 60_000))]))),
        new("no-method", "Without REQUEST_METHOD there is an error or an answer, and no crash", "RFC 3875 4.1.12", context => ChoiceAsync(
            context, [.. Begin(), .. Stream(RecordType.Params, 1, Pairs(context.GetParams().Where(static pair => pair.Name != "REQUEST_METHOD"))),
                .. Record(RecordType.Stdin, 1)])),
    ];

    private static async Task<CheckResult> LongLengthsAsync(CheckContext context)
    {
        var pairs = context.GetParams().SelectMany(static pair => pair.Value.Length < 128 && pair.Name.All(char.IsAscii)
            && pair.Value.All(char.IsAscii) ? LongPair(pair.Name, pair.Value) : Pair(pair.Name, pair.Value)).ToArray();
        var answer = await context.AskAsync([.. Begin(), .. Stream(RecordType.Params, 1, pairs), .. Record(RecordType.Stdin, 1)]);
        return answer.IsWhole && answer.Status == context.Status ? CheckResult.Pass() : await context.ChooseAsync($"refused: {answer.Describe()}");
    }

    private static async Task<CheckResult> ChoiceAsync(CheckContext context, byte[] request)
    {
        var answer = await context.AskAsync(request);
        if (answer.IsWhole && answer.Status == context.Status)
            return CheckResult.Pass();
        return answer.IsSilent ? CheckResult.Fail(answer.Describe()) : await context.ChooseAsync(answer.Describe());
    }
}
