#!/usr/bin/env bash
# Changes the library in small ways, one at a time (a condition negated, a call left out, < for <=), and looks whether a fast test fails: UnitTests,
# InMemoryTests without the explored schedules, and SocketTests. Prints for each folder how many mutants were killed, and lists those that survived.
#   tests/mutate.sh [FOLDER...] [--sample N] [--seed S] [--tests NAME] [--output FILE]
# FOLDER is one of src/FastCgi.AspNetCore; without any, all. --sample takes N mutants of each folder, at random by the seed (1). --tests takes only the tests
# whose name has NAME: it tells what they alone kill. --output keeps the result as JSON. Works on a copy of the tree. Needs python3.
# Stryker makes the mutants, all in one assembly, each behind a switch. The tests then run in processes that stay, where a mutant is switched on in
# no time: Stryker starts a process for each, which takes days. Its start takes five minutes, a mutant from milliseconds to a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
# A mutant may have warnings.
unset CI
folders='' sample=0 seed=1 tests='' output=
while [ $# -gt 0 ]; do
  case $1 in
    --sample) sample=$2 && shift 2 ;;
    --seed) seed=$2 && shift 2 ;;
    --tests) tests=$2 && shift 2 ;;
    --output) output=$(realpath "$2") && shift 2 ;;
    *)
      if [ ! -d "src/FastCgi.AspNetCore/$1" ]; then
        echo "src/FastCgi.AspNetCore has no folder $1."
        exit 1
      fi
      folders+="${1%/} " && shift
      ;;
  esac
done

scratch=$(mktemp -d)
stryker=
clean_up() {
  if [ -n "$stryker" ]; then kill -9 -- "-$stryker" 2>/dev/null || true; fi
  rm -rf "$scratch"
}
trap clean_up EXIT
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "$scratch"
cd "$scratch"

for project in FastCgi.AspNetCore.UnitTests FastCgi.AspNetCore.InMemoryTests FastCgi.AspNetCore.SocketTests MutantWorker; do
  dotnet build "tests/$project" --configuration Release --verbosity quiet -p:UseSharedCompilation=true -p:RunAnalyzers=false >build.log || { cat build.log && exit 1; }
done

# What it would do next, to run the tests, is not wanted: it ends when it has written the assembly and the list of what is in it.
python3 tests/mutate.py configure "$folders" >stryker.json
dotnet tool restore >restore.log || { cat restore.log && exit 1; }
# It opens the report in a browser.
mkdir bin
ln -s "$(command -v true)" bin/xdg-open
mutated=tests/FastCgi.AspNetCore.UnitTests/bin/Release/net10.0/FastCgi.AspNetCore.dll
set -m
(cd src/FastCgi.AspNetCore &&
  PATH=$scratch/bin:$PATH exec dotnet stryker --config-file "$scratch/stryker.json" --output "$scratch/result" --open-report:html) >stryker.log 2>&1 </dev/null &
stryker=$!
set +m
until [ -s result/reports/mutation-report.html ] && grep -qa MutantControl "$mutated"; do
  if ! kill -0 "$stryker" 2>/dev/null; then tail -n 40 stryker.log && exit 1; fi
  sleep 1
done
sleep 2
cp "$mutated" mutated.dll
python3 tests/mutate.py extract result/reports/mutation-report.html >report.json
kill -9 -- "-$stryker"
stryker=

for project in UnitTests InMemoryTests SocketTests; do
  folder=tests/FastCgi.AspNetCore.$project/bin/Release/net10.0
  cp mutated.dll "$folder/FastCgi.AspNetCore.dll"
  cp tests/MutantWorker/bin/Release/net10.0/MutantWorker.* "$folder"
done
# A mutant that ends its process leaves no core.
ulimit -c 0
MUTANT_TESTS=$tests python3 tests/mutants.py "$scratch" "$folders" "$sample" "$seed" "${output:-$scratch/results.json}"
