#!/usr/bin/env bash
# Retakes the screenshots of the status page and of "fastcgi top", which show an application under load.
# Needs the .NET SDK and Chromium, and takes two minutes on an idle machine.
set -euo pipefail
cd "$(dirname "$0")"
images=$PWD
source=$(cd ../../src && pwd)
scratch=$(mktemp -d)
export DOTNET_NOLOGO=1
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

mkdir "$scratch/shop"
cd "$scratch/shop"
cat >shop.csproj <<END
<Project Sdk="Microsoft.NET.Sdk.Web">
  <PropertyGroup>
    <TargetFramework>net10.0</TargetFramework>
    <ImplicitUsings>enable</ImplicitUsings>
  </PropertyGroup>
  <ItemGroup>
    <ProjectReference Include="$source/FastCgi.AspNetCore/FastCgi.AspNetCore.csproj" />
  </ItemGroup>
</Project>
END
cat >Program.cs <<'END'
using FastCgi.AspNetCore;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(options => options.Limits.MaxConcurrentRequests = 200);
var app = builder.Build();
app.MapFastCgiStatus().AllowAnonymous();
app.MapGet("/reports/{name}", async () => await Task.Delay(TimeSpan.FromMinutes(5)));
app.MapGet("/products/{id:int}", async (int id) => { await Task.Delay(id % 9); return $"Product {id}"; });
app.Run();
END
dotnet build -c Release -v q
dotnet build "$source/FastCgi.Tool" -c Release -v q
gcc -O2 -o "$scratch/fcgiload" "$source/../perf/side-by-side/load/fcgiload.c"

address=127.0.0.1:$(shuf -i 20000-29999 -n 1)
page=http://127.0.0.1:$(shuf -i 10000-19999 -n 1)
tool() { dotnet "$source"/FastCgi.Tool/bin/Release/net*/FastCgi.Tool.dll "$@" --timeout 300; }
visit() {
  tool request "$address" "https://shop.example.com/$1" -p SERVER_SOFTWARE=nginx/1.22.1 "${@:2}" >/dev/null 2>&1
}

cd bin/Release/net*
dotnet shop.dll --urls "fastcgi://$address;$page" --Logging:LogLevel:Default None &
until visit products/1; do sleep 1; done
for name in sales stock; do visit reports/$name & done
(
  while true; do
    # The load rises and falls.
    for rate in 20 45 80 120 80 45; do
      "$scratch/fcgiload" -c 8 -d 2 --rate "$rate" --path "/products/$((RANDOM % 40))" "$address" >/dev/null
    done
  done
) &
tool top "$address" --once >/dev/null
sleep 30

# The page reads the status every two seconds of virtual time, which Chromium advances while it loads the page.
picture() {
  HOME=$scratch chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
    "--user-data-dir=$scratch/browser" "--virtual-time-budget=$4" "--window-size=$3" \
    "--screenshot=$images/$1" "$2" 2>/dev/null
}
picture status.png "$page/fastcgi-status" 1100,1000 60000

{
  echo '<body style="margin: 0; padding: 16px; background: #0d1117">'
  echo '<pre style="margin: 0; color: #e6edf3; font: 14px/1.4 monospace">'
  tool top "$address" --once | sed 's/&/\&amp;/g; s/</\&lt;/g'
  echo '</pre></body>'
} >"$scratch/top.html"
picture top.png "file://$scratch/top.html" 900,320 1000
