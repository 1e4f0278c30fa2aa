open System
open Microsoft.AspNetCore.Builder
open Microsoft.AspNetCore.Hosting
open Microsoft.AspNetCore.Http

let builder = WebApplication.CreateBuilder(Environment.GetCommandLineArgs()[1..])
builder.WebHost.UseFastCgi() |> ignore // The one line that differs from the Kestrel version.
let app = builder.Build()

app.MapGet("/", Func<HttpContext, string>(fun context -> $"Hello from F#, {context.Connection.RemoteIpAddress}!\n")) |> ignore

app.MapGet("/sum/{first:int}/{second:int}", Func<int, int, string>(fun first second -> $"{first + second}\n")) |> ignore

app.Run()
