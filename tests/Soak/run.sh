#!/usr/bin/env bash
# Drives a server with requests of all kinds until there were N, half of them on each engine, checks each answer, and
# prints what the server had at the beginning and at the end. Ends with exit code 1 if an answer was wrong or something
# has grown.
#   run.sh [--requests N] [--seconds N] [--no-build]
# --requests is 2,000,000 if not given; --seconds ends it sooner.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
builds=true
options=()
for option in "$@"; do
  if [ "$option" = --no-build ]; then builds=false; else options+=("$option"); fi
done
if $builds; then dotnet build tests/Soak --configuration Release --verbosity quiet >&2; fi
exec tests/Soak/bin/Release/net10.0/FastCgi.AspNetCore.Soak "${options[@]}"
