#!/usr/bin/env bash
# Builds the committed source twice, in two folders with different surroundings, and compares the packages byte for
# byte.
#   build/reproduce.sh [VERSION [FOLDER OF A RELEASE]]
# With FOLDER, also compares them with its SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-$(sed -n 's:.*<VersionPrefix>\(.*\)</VersionPrefix>.*:\1:p' Directory.Build.props)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for copy in one a/second/one; do
  git clone --quiet . "$scratch/$copy"
  # Symbols must link to the same source.
  git -C "$scratch/$copy" remote set-url origin "$(git remote get-url origin 2>/dev/null || echo https://example.org/source)"
done
"$scratch/one/build/release.sh" "$version" "$scratch/first" >"$scratch/log" 2>&1 || { cat "$scratch/log" && exit 1; }
(
  umask 077
  mkdir "$scratch/temporary"
  export TZ=Asia/Tokyo TMPDIR=$scratch/temporary
  env LC_ALL=tr_TR.UTF-8 "$scratch/a/second/one/build/release.sh" "$version" "$scratch/second" >"$scratch/log" 2>&1 || { cat "$scratch/log" && exit 1; }
)

diff "$scratch/first/SHA256SUMS" "$scratch/second/SHA256SUMS"
if [ $# -gt 1 ]; then diff "$2/SHA256SUMS" "$scratch/second/SHA256SUMS"; fi
echo "Identical: $(wc -l <"$scratch/first/SHA256SUMS") packages of $version"
