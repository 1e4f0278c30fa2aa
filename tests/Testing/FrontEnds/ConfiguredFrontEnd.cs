namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>A web server with the configuration of a setup, from the templates beside this file.</summary>
/// <param name="more">What is added to the configuration, where the template has a place for it.</param>
public sealed class ConfiguredFrontEnd(
    FrontEndSetup setup, string folder, EndPoint application, string more) : FrontEnd(setup, folder, application)
{
    private readonly FrontEndProgram _program = FrontEndProgram.Of(setup.Kind);

    protected override (string Program, string[] Arguments) Command
        => (
            _program.Name,
            [.. _program.Arguments.Select(argument => ConfigurationTemplate.FillIn(argument, Setup, Values))]);

    protected override string[] Templates => _program.Templates;

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["folder"] = Folder,
        ["more"] = more,
        ["application"] = Application.ToString()!,
        ["application-host"] = (Application as IPEndPoint)?.Address.ToString() ?? "",
        ["application-port"] = (Application as IPEndPoint)?.Port.ToString(CultureInfo.InvariantCulture) ?? "",
    };

    protected override string[] ErrorMarks => _program.ErrorMarks;
}
