namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Whether a stranger meets a condition, and whether by its own choice.</summary>
internal enum Chance
{
    Never,
    Open,
    Chosen,
    Always,
}

/// <summary>A client that reaches the web server directly, not through a known load balancer.</summary>
internal static class Stranger
{
    /// <summary>The address of a stranger, for patterns of addresses.</summary>
    public const string Address = "11.22.33.44";

    private const int DeepestCondition = 100;

    /// <summary>The parameters that the application trusts.</summary>
    private static readonly Regex s_trusted = new("^(REMOTE_(ADDR|PORT|USER|HOST)|AUTH_TYPE|HTTPS|REQUEST_SCHEME|"
        + @"SERVER_(ADDR|PORT|NAME|PROTOCOL)|SSL_\w+|PATH_BASE|HTTP_HOST)$");

    private static readonly Regex s_local = new(
        @"^(unix:|unix@|abnsz?@|/)|^(ipv[46]@)?(127\.[\d.]+|\[?::1\]?|localhost)(:\d+)?$", RegexOptions.IgnoreCase);

    public static bool Trusts(string? parameter) => parameter is not null && s_trusted.IsMatch(parameter);

    /// <summary>A line by which strangers choose a parameter.</summary>
    public static Seen See(Directive line, string parameter, string? text = null)
        => new(line.Where, text ?? line.Text,
            $"any client chooses {parameter}, which the application trusts, with a header");

    /// <summary>Whether only programs of this machine can connect.</summary>
    public static bool IsLocal(string listen) => s_local.IsMatch(listen);

    /// <summary>Whether networks contain a large part of the Internet, perhaps in halves.</summary>
    public static bool AreEverybody(IEnumerable<string> networks) => networks.Distinct().Sum(GetShare) >= 0.25;

    /// <summary>Evaluates a condition whose neighboring words must all be met.</summary>
    public static Chance Test(IEnumerable<string> words, Func<string, Chance> test)
    {
        var rest = new Queue<string>(words);
        var depth = 0;
        return Or();

        Chance Or()
        {
            var any = And();
            while (rest.TryPeek(out var next) && next is "||" or "or")
            {
                rest.Dequeue();
                any = Either(any, And());
            }

            return any;
        }

        Chance And()
        {
            var all = Chance.Always;
            while (rest.TryPeek(out var next) && next is not ("||" or "or" or ")"))
                all = Both(all, Not());
            return all;
        }

        Chance Not()
        {
            var word = rest.Dequeue();
            if (word is not ("!" or "("))
                return word == "&&" ? Chance.Always : test(word);
            if (depth > DeepestCondition || rest.Count == 0)
                return Chance.Open;

            depth++;
            var inner = word == "!" ? Negate(Not()) : Or();
            depth--;
            if (word == "(")
                rest.TryDequeue(out _);
            return inner;
        }
    }

    public static Chance Negate(Chance chance) => chance switch
    {
        Chance.Never => Chance.Always,
        Chance.Always => Chance.Never,
        _ => chance,
    };

    public static Chance Both(Chance one, Chance other) => Join(one, other, Chance.Never);

    public static Chance Either(Chance one, Chance other) => Join(one, other, Chance.Always);

    /// <param name="decisive">The value that decides alone.</param>
    private static Chance Join(Chance one, Chance other, Chance decisive)
    {
        if (one == decisive || other == decisive)
            return decisive;
        if (one == Chance.Chosen || other == Chance.Chosen)
            return Chance.Chosen;
        return one == Chance.Open || other == Chance.Open ? Chance.Open : one;
    }

    private static double GetShare(string network)
    {
        if (network.ToLowerInvariant() is "all" or "*" or "0/0" or "::ffff:0:0/96")
            return 1;
        var parts = network.Split('/');
        if (parts is not [var start, var end] || !IPAddress.TryParse(start, out var address))
            return 0;
        var bits = int.TryParse(end, CultureInfo.InvariantCulture, out var length) ? length : 128;
        if (IPAddress.TryParse(end, out var mask) && end.Contains('.'))
            bits = mask.GetAddressBytes().Sum(static part => BitOperations.PopCount(part));
        // The addresses of IPv6 in use are an eighth of all.
        return Math.Pow(2, -bits) * (address.AddressFamily == AddressFamily.InterNetworkV6 ? 8 : 1);
    }
}
