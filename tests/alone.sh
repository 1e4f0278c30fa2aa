#!/usr/bin/env bash
# Runs each class of tests in a separate process, so that a test that depends on another class fails.
#   tests/alone.sh [PROJECT]...
# PROJECT is a short or full name (UnitTests); the default is all projects, which takes half an hour or more.
# tests/run.sh installs the packages. The last line is "N classes passed, N failed". The exit code is 0 if none failed.
set -uo pipefail
cd "$(dirname "$0")/.."

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 PATH=$PATH:/usr/sbin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
dotnet build FastCgi.AspNetCore.sln --configuration Release --verbosity quiet </dev/null || exit

# The full names of the classes of an assembly.
list_classes() {
  dotnet test "$1" --list-tests </dev/null |
    sed -n 's/^    \([A-Za-z_.0-9]*\)\.[A-Za-z_0-9]*\((.*\)\?$/\1/p' | sort --unique
}

run_class() {
  local assembly=$1 class=$2
  if dotnet test "$assembly" --filter "FullyQualifiedName~$class." --results-directory "$scratch" \
    --blame-hang-timeout 10m --blame-hang-dump-type none \
    </dev/null >"$scratch/$class" 2>&1; then
    echo passed >>"$scratch/results"
  else
    echo failed >>"$scratch/results"
    grep -vE '^(VSTest|Starting|A total|Results|$)' "$scratch/$class"
  fi
}

for assembly in {tests,samples}/*/bin/Release/net10.0/*.dll; do
  name=$(basename "$assembly" .dll)
  if [[ $assembly != */"$name"/bin/* ]]; then continue; fi
  if [ ! -e "$(dirname "$assembly")/xunit.runner.visualstudio.testadapter.dll" ]; then continue; fi
  short=${name#FastCgi.}
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* && " $* " != *" ${short#AspNetCore.} "* ]]; then continue; fi
  for class in $(list_classes "$assembly"); do
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
    run_class "$assembly" "$class" &
  done
  wait
done
passed=$(grep -c passed "$scratch/results") failed=$(grep -c failed "$scratch/results")
echo "$passed classes passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
