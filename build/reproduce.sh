#!/usr/bin/env bash
# Builds the committed source twice, in two folders with different surroundings, and compares the packages byte for byte.
#   build/reproduce.sh VERSION [FOLDER OF A RELEASE]
# With FOLDER, compares with its SHA256SUMS too.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: build/reproduce.sh VERSION [FOLDER OF A RELEASE]}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for copy in one a/second/one; do
  git clone --quiet . "$scratch/$copy"
  # So that symbols link to the same source.
  git -C "$scratch/$copy" remote set-url origin "$(git remote get-url origin 2>/dev/null || echo https://example.org/source)"
done
"$scratch/one/build/release.sh" "$version" "$scratch/first" >"$scratch/log" || { cat "$scratch/log" && exit 1; }
(
  umask 077
  mkdir "$scratch/temporary"
  export TZ=Asia/Tokyo LC_ALL=tr_TR.UTF-8 TMPDIR=$scratch/temporary
  "$scratch/a/second/one/build/release.sh" "$version" "$scratch/second" >"$scratch/log" || { cat "$scratch/log" && exit 1; }
)

diff "$scratch/first/SHA256SUMS" "$scratch/second/SHA256SUMS"
if [ $# -gt 1 ]; then diff "$2/SHA256SUMS" "$scratch/second/SHA256SUMS"; fi
echo "Identical: $(wc -l <"$scratch/first/SHA256SUMS") packages of $version"
