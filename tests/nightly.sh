#!/usr/bin/env bash
# Runs tests that take too long for each change: the invariant culture, other orders, a million explored schedules, cut
# responses behind web servers, long fuzzing, an hour of load, two builds of the packages, and mutants of one folder.
#   tests/nightly.sh [SOAK-SECONDS]
#   tests/nightly.sh --web-servers     only the tests that depend on the versions of web servers, and installs packages
# Otherwise, run tests/run.sh first, which installs the packages. The exit code is 0 if all tests passed.
set -uo pipefail
cd "$(dirname "$0")/.."

export CI=true
configuration=Release
failed=0

# The versions for the table in docs/releases.md.
print_versions() {
  . /etc/os-release
  echo "$PRETTY_NAME"
  nginx -v
  apache2 -v | head -n 1
  lighttpd -v | head -n 1
  haproxy -v | head -n 1
  echo "Caddy $(caddy version)"
  systemctl --version | head -n 1
}

if [ "${1:-}" = --web-servers ]; then
  for project in FrontEndTests ParityTests Tool.Tests ProcessTests Samples.Tests; do
    tests/run.sh "$project" || failed=1
  done
  print_versions 2>&1
  exit $failed
fi

run() {
  echo "== $*"
  env "${@:3}" dotnet test "tests/FastCgi.AspNetCore.$1/bin/$configuration/net10.0/FastCgi.AspNetCore.$1.dll" \
    ${2:+--filter "$2"} </dev/null || failed=1
}

dotnet build FastCgi.AspNetCore.sln --configuration "$configuration" --verbosity quiet || exit
for order in 1 $((RANDOM + 2)); do
  run UnitTests '' DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 FASTCGI_TEST_ORDER=$order
  run InMemoryTests 'Category!=Exploration' DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 FASTCGI_TEST_ORDER=$order
done
run InMemoryTests Category=Exploration FASTCGI_EXPLORED_SCHEDULES=1000000
run SocketTests 'FullyQualifiedName~StressTests|FullyQualifiedName~LateUseTests' FASTCGI_STRESS_SECONDS=120
run FrontEndTests Category=Nightly
run ProcessTests 'FullyQualifiedName~SoakTests' FASTCGI_SOAK_SECONDS="${1:-3600}"
tests/fuzz.sh --long || failed=1
build/reproduce.sh || failed=1
dotnet tool restore || failed=1
(cd tests/FastCgi.AspNetCore.UnitTests && dotnet stryker --project FastCgi.AspNetCore.csproj --mutate '**/Protocol/*.cs') ||
  failed=1
exit $failed
