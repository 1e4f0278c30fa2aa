#!/usr/bin/env bash
# Sends N requests of all kinds to a server, half of them on each engine, checks each response, and prints the server's
# resources at the beginning and at the end. The exit code is 1 if a response was wrong or the use of a resource grew.
#   run.sh [--requests N] [--seconds N] [--no-build]
# The default of --requests is 2,000,000; --seconds ends the run sooner.
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
