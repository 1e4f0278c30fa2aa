#!/usr/bin/env bash
# Fuzzes connections in memory, guided by coverage: coverlet counts each line and branch, and an input that
# reaches a new one, or reaches one more often, is mutated further.
#   tests/fuzz.sh [FILTER] [--long] [--seed S]
# FILTER is a part of the name of the fuzzers, such as ConnectionFuzzTests. --long takes an hour or more; without it, a
# minute.
set -euo pipefail
cd "$(dirname "$0")/.."

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
filter=FuzzTests
while [ $# -gt 0 ]; do
  case $1 in
    --long) export FASTCGI_FUZZ=long && shift ;;
    --seed) export FASTCGI_FUZZ_SEED=$2 && shift 2 ;;
    *) filter=$1 && shift ;;
  esac
done

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# One fuzzer at a time, because the counters are per process. In a CI build, the source paths differ from those of the
# machine, which must not matter.
coverlet=DataCollectionRunSettings.DataCollectors.DataCollector.Configuration
dotnet test tests/FastCgi.AspNetCore.InMemoryTests --configuration Release -p:Instrumented=true --filter "Category=Fuzzing&FullyQualifiedName~$filter" \
  --collect "XPlat Code Coverage" --results-directory "$results" --logger "console;verbosity=detailed" -- \
  xUnit.ParallelizeTestCollections=false "$coverlet.Include=[FastCgi.AspNetCore]*" $coverlet.ExcludeAssembliesWithoutSources=None |
  grep -E "executions|Passed|Failed|Error|error|seed|Assert|lines and branches"
