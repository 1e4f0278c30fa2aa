#!/usr/bin/env bash
# Measures the time to the first response and the first seconds after startup, relative to the same program on Kestrel.
# Prints tables of medians, then the targets.
#   run.sh [--quick] [--rounds N] [--only REGEX-OF-TITLES] [--pictures]
# --quick measures only what the targets need, in short runs.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)
. ../common.sh
trap remove_scratch EXIT
install_missing gcc:gcc wrk:wrk nginx:nginx-light
ulimit -n "$(ulimit -Hn)"

# The sample returns anonymous types, which only reflection can serialize, so its own assembly is not trimmed. The
# framework is.
publish_trimmed() {
  quietly dotnet publish "$1" -c Release -r "linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')" --self-contained \
    -p:PublishTrimmed=true -p:TrimMode=partial -p:JsonSerializerIsReflectionEnabledByDefault=true -p:EnableRequestDelegateGenerator=false \
    -p:TreatWarningsAsErrors=false -p:SuppressTrimAnalysisWarnings=true -p:PublishReadyToRun=true -o "$2" --artifacts-path "$scratch/artifacts"
}

# The sample, and the same program without the one line. It keeps the reference to the library, which trimming then
# removes.
publish_samples() {
  local sample=$repository/samples/MinimalApi copy=$scratch/repository/samples/Kestrel
  mkdir -p "$copy"
  cp "$sample/appsettings.json" "$copy"
  sed '/UseFastCgi/d' "$sample/Program.cs" >"$copy/Program.cs"
  sed "s|../../src|$repository/src|" "$sample/MinimalApi.csproj" >"$copy/MinimalApi.csproj"
  cp "$repository"/Directory.*.props "$repository/global.json" "$scratch/repository"
  publish_trimmed "$sample" "$scratch/sites/MinimalApi"
  publish_trimmed "$copy/MinimalApi.csproj" "$scratch/sites/MinimalApi-kestrel"
}

echo "Building" >&2
build_tools
make_package
publish_minimal
has_option --quick "$@" || publish_samples
run_driver --startup "$@"
