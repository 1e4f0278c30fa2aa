#!/usr/bin/env bash
# Runs each class of tests in a process of its own, so that a test that passes only behind another, or only beside it, fails.
#   tests/alone.sh [PROJECT]...
# runs those of these projects, by their short or full names (UnitTests); without one, of all. It takes half an hour or more. It needs what tests/run.sh
# installs. The last line is "N classes passed, N failed"; the exit code is 0 if none failed.
set -uo pipefail
cd "$(dirname "$0")/.."

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 PATH=$PATH:/usr/sbin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
dotnet build FastCgi.AspNetCore.sln --configuration Release --verbosity quiet </dev/null || exit

# The full names of the classes of an assembly.
list_classes() {
  dotnet test "$1" --list-tests </dev/null | sed -n 's/^    \([A-Za-z_.0-9]*\)\.[A-Za-z_0-9]*\((.*\)\?$/\1/p' | sort --unique
}

run_class() {
  local assembly=$1 class=$2
  if dotnet test "$assembly" --filter "FullyQualifiedName~$class." --blame-hang-timeout 10m --blame-hang-dump-type none --results-directory "$scratch" \
    </dev/null >"$scratch/$class" 2>&1; then
    echo passed >>"$scratch/results"
  else
    echo failed >>"$scratch/results"
    grep -vE '^(VSTest|Starting|A total|Results|$)' "$scratch/$class"
  fi
}

for assembly in {tests,samples}/*/bin/Release/net10.0/*.dll; do
  name=$(basename "$assembly" .dll)
  if [ ! -e "$(dirname "$assembly")/xunit.runner.visualstudio.testadapter.dll" ] || [[ $assembly != */"$name"/bin/* ]]; then continue; fi
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
