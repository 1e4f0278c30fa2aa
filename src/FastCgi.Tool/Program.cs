using FastCgi.Tool;

var console = new ToolConsole(Console.Out, Console.Error, Console.OpenStandardOutput());
return await Interruption.RunAsync(interrupted => FastCgiCommand.RunAsync(args, console, interrupted));
