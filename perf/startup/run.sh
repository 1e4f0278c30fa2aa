#!/usr/bin/env bash
# Measures the time from the start of the MinimalApi sample to its first answer, published trimmed and compiled ahead (ReadyToRun),
# against the same program without UseFastCgi, which is Kestrel's. The two take turns. Prints medians and their ratio.
#   run.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_GENERATE_ASPNET_CERTIFICATE=false
rounds=${1:-31}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Below the ports that the system gives to outgoing connections.
port=$((20000 + RANDOM % 10000))

# The sample answers with anonymous types, which only reflection can serialize: so its own assembly is not trimmed, the framework is.
publish() {
  dotnet publish "$1" -c Release -r "linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')" --self-contained -v quiet \
    -p:PublishTrimmed=true -p:TrimMode=partial -p:JsonSerializerIsReflectionEnabledByDefault=true -p:EnableRequestDelegateGenerator=false \
    -p:TreatWarningsAsErrors=false -p:SuppressTrimAnalysisWarnings=true -p:PublishReadyToRun=true -o "$2" --artifacts-path "$scratch/artifacts" >"$scratch/publish.log" 2>&1 ||
    { cat "$scratch/publish.log" >&2; exit 1; }
}

# The same program without the one line. It keeps the reference to the library, which trimming then removes.
mkdir -p "$scratch/repository/samples/Kestrel"
cp samples/MinimalApi/appsettings.json "$scratch/repository/samples/Kestrel"
sed '/UseFastCgi/d' samples/MinimalApi/Program.cs >"$scratch/repository/samples/Kestrel/Program.cs"
sed "s|../../src|$PWD/src|" samples/MinimalApi/MinimalApi.csproj >"$scratch/repository/samples/Kestrel/MinimalApi.csproj"
cp Directory.*.props global.json "$scratch/repository"

echo "Publishing" >&2
publish samples/MinimalApi "$scratch/fastcgi"
publish "$scratch/repository/samples/Kestrel/MinimalApi.csproj" "$scratch/kestrel"

measure() {
  (cd "$scratch/$1" && perl "$OLDPWD/perf/startup/first-answer.pl" "$2" "$port" ./MinimalApi --urls "$2://127.0.0.1:$port")
}

measure kestrel http >/dev/null
measure fastcgi fastcgi >/dev/null
for ((i = 0; i < rounds; i++)); do
  measure kestrel http >>"$scratch/kestrel.ms"
  measure fastcgi fastcgi >>"$scratch/fastcgi.ms"
done

median() { sort -n "$1" | sed -n "$((rounds / 2 + 1))p"; }
kestrel=$(median "$scratch/kestrel.ms")
fastcgi=$(median "$scratch/fastcgi.ms")
awk -v k="$kestrel" -v f="$fastcgi" -v n="$rounds" \
  'BEGIN { printf "first answer, median of %d: Kestrel %.1f ms, FastCGI %.1f ms, ratio %.2f\n", n, k, f, f / k }'
