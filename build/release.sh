#!/usr/bin/env bash
# Builds the packages of a release and checks them.
#   build/release.sh VERSION [FOLDER [ARGUMENTS OF dotnet pack]]
# FOLDER (artifacts/release) gets the packages and SHA256SUMS. The same commit and SDK give the same bytes, in any
# folder: build/reproduce.sh compares.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
version=${1:?usage: build/release.sh VERSION [FOLDER [ARGUMENTS OF dotnet pack]]}
mkdir -p "${2:-$root/artifacts/release}"
folder=$(cd "${2:-$root/artifacts/release}" && pwd)
shift $(($# < 2 ? $# : 2))
cd "$root"

fail() {
  echo "$1" >&2
  exit 1
}

prefix=$(sed -n 's:.*<VersionPrefix>\(.*\)</VersionPrefix>.*:\1:p' Directory.Build.props)
[[ $version =~ ^"$prefix"(-[0-9A-Za-z.-]+)?$ ]] || fail "Version $version is neither $prefix nor $prefix-SUFFIX. Change VersionPrefix in Directory.Build.props."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The timestamp of the files in the packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 946684800)}
export CI=true SOURCE_DATE_EPOCH

rm -f "$folder"/*.nupkg "$folder"/*.snupkg
for project in src/*/*.csproj; do
  # Symbols contain the paths of source files in the repository.
  dotnet pack "$project" --configuration Release --verbosity quiet --output "$folder" --artifacts-path "$scratch" \
    "-p:Version=$version" "-p:PathMap=$root/=/_/%2c$scratch/=/_/artifacts/" "$@" </dev/null
done

cd "$folder"
for package in *.nupkg *.snupkg; do
  name=${package/.$version/}
  unzip -p "$package" '*.nuspec' | grep -q "<version>$version</version>" || fail "$package does not have version $version."
  unzip -Z1 "$package" | sed "s|^|$name: |"
done | LC_ALL=C sort >"$scratch/PackageFiles.txt"
if ! diff "$root/build/PackageFiles.txt" "$scratch/PackageFiles.txt"; then
  cp "$scratch/PackageFiles.txt" .
  fail "The packages do not have the files of build/PackageFiles.txt. If the change is intended, copy $folder/PackageFiles.txt over it."
fi

sha256sum ./*.nupkg ./*.snupkg | sed 's:\./::' | tee SHA256SUMS
