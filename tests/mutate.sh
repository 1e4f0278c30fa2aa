#!/usr/bin/env bash
# Changes the library in small ways, one at a time (a condition negated, a call left out, < for <=), and looks whether a fast test fails: UnitTests and
# InMemoryTests, without the explored schedules. Prints for each folder how many mutants were killed, and lists those that survived.
#   tests/mutate.sh [FOLDER...] [--sample N] [--seed S] [--tests NAME]
# FOLDER is one of src/FastCgi.AspNetCore; without any, all. --sample takes N statements of each folder, at random by the seed (1), and all the mutants
# that lie in them. --tests takes only the tests whose name has NAME: quick, and it tells what they alone kill. Works on a copy of the tree, so that no
# mutant is left in a build. Needs python3. Its start takes minutes, each mutant a run of the tests that reach it: without --sample it takes many hours.
set -euo pipefail
cd "$(dirname "$0")/.."

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
# A mutant may have warnings.
unset CI
folders='' sample=0 seed=1 tests=''
while [ $# -gt 0 ]; do
  case $1 in
    --sample) sample=$2 && shift 2 ;;
    --seed) seed=$2 && shift 2 ;;
    --tests) tests=$2 && shift 2 ;;
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
trap 'rm -rf "$scratch"' EXIT
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "$scratch"
cd "$scratch"
python3 tests/mutate.py configure "$folders" "$sample" "$seed" "$tests" >stryker.json
dotnet tool restore >restore.log || { cat restore.log && exit 1; }
# A mutant that ends its process leaves no core.
ulimit -c 0
(cd src/FastCgi.AspNetCore && dotnet stryker --config-file "$scratch/stryker.json" --output "$scratch/result") >stryker.log 2>&1 ||
  { tail -n 40 stryker.log && exit 1; }
python3 tests/mutate.py report "$folders" result/reports/mutation-report.json
