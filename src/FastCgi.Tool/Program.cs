using FastCgi.Tool;

var console = ToolConsole.OpenStandard();
return await Interruption.RunAsync(interrupted => FastCgiCommand.RunAsync(args, console, interrupted));
