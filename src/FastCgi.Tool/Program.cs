using FastCgi.Tool;
using FastCgi.Tool.Terminal;

return await FastCgiCommand.RunAsync(args, new ToolConsole(Console.Out, Console.Error, Console.OpenStandardOutput()), CancellationToken.None);
