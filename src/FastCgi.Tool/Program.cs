using FastCgi.Tool;
using FastCgi.Tool.Terminal;

var console = new ToolConsole(Console.Out, Console.Error, Console.OpenStandardOutput());
return await Interruption.RunAsync(interrupted => FastCgiCommand.RunAsync(args, console, interrupted));
