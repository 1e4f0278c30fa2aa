#!/usr/bin/env bash
# Runs startup/run.sh and side-by-side/run.sh with the given options. Prints their tables, then a table of all targets.
# --pictures writes the SVG files of images/.
#   run.sh [--quick] [--rounds N] [--pictures] ...
set -euo pipefail
cd "$(dirname "$0")"
PERF_SCRATCH=$(mktemp -d)
export PERF_SCRATCH
trap 'rm -rf "$PERF_SCRATCH"' EXIT

./startup/run.sh "$@" >"$PERF_SCRATCH/startup.md"
./side-by-side/run.sh "$@" >"$PERF_SCRATCH/side-by-side.md"

printf '# Results\n\nWhat perf/run.sh prints. The table of targets is at the end.\n\n'
# The last table of each has the same columns.
targets='### Targets'
sed "/^$targets/,\$d" "$PERF_SCRATCH/side-by-side.md" "$PERF_SCRATCH/startup.md"
sed -n "/^$targets/,\$p" "$PERF_SCRATCH/side-by-side.md" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
sed -n "/^$targets/,\$p" "$PERF_SCRATCH/startup.md" | sed -n '/^| figure/,$p' | sed '1,2d'
