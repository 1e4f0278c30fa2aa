#!/usr/bin/env bash
# Builds everything and runs every test project, of the library and of the samples. Installs the web servers and clients that the tests start, if they
# are missing. The last line is "N passed, N failed, N skipped"; the exit code is 0 if something passed and nothing failed.
# FastCgi__Transport__Engine=Socket tests/run.sh runs them on that engine; without it they run on the default, epoll, and a part of them on Socket.
set -uo pipefail
cd "$(dirname "$0")/.."

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DEBIAN_FRONTEND=noninteractive
# Warnings are errors.
export CI=true
# An ordinary user's search path lacks the folder of the servers.
PATH=$PATH:/usr/sbin

configuration=Release
# A test that takes longer hangs: it is named, and its project ends.
hang_timeout=5m
# What the tests run or load, and the Debian package that has it.
programs=(nginx:nginx apache2:apache2-bin lighttpd:lighttpd haproxy:haproxy caddy:caddy h2o:h2o spawn-fcgi:spawn-fcgi
  systemd-socket-activate:systemd ab:apache2-utils curl:curl node:nodejs npm:npm
  /usr/lib/apache2/modules/mod_fcgid.so:libapache2-mod-fcgid /usr/lib/apache2/modules/mod_xsendfile.so:libapache2-mod-xsendfile
  /usr/lib/lighttpd/mod_openssl.so:lighttpd-mod-openssl)

scratch=$(mktemp -d)
# Of the user without privileges, who may not read the other.
home=$(mktemp -d)
# Debian starts a server that it installs, unless this file says no.
policy=/usr/sbin/policy-rc.d
has_own_policy=false
passed=0 failed=0 skipped=0

clean_up() {
  rm -rf "$scratch" "$home"
  if $has_own_policy; then rm -f "$policy"; fi
  has_own_policy=false
}
trap clean_up EXIT

# Ends with the last line; what is given is why there is nothing more to report.
finish() {
  if [ $# -gt 0 ]; then echo "$1"; fi
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $# -eq 0 ] && [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
  exit
}

install_missing_packages() {
  local program packages=()
  for program in "${programs[@]}"; do
    command -v "${program%%:*}" >/dev/null || [ -e "${program%%:*}" ] || packages+=("${program##*:}")
  done
  if [ ${#packages[@]} -eq 0 ]; then return; fi

  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    finish "The tests need what these Debian packages have: ${packages[*]}. Install them, or run this as root."
  fi

  echo "Installing ${packages[*]}"
  if [ ! -e "$policy" ]; then
    has_own_policy=true
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  if ! { apt-get update && apt-get install --yes --no-install-recommends "${packages[@]}"; } </dev/null >"$scratch/install.log" 2>&1; then
    tail -n 20 "$scratch/install.log"
    finish "Installing failed."
  fi
  if $has_own_policy; then rm -f "$policy"; fi
  has_own_policy=false
}

# Adds up the counters of a project's report. What is neither executed nor passed was skipped.
count() {
  local counters total executed succeeded
  counters=$(grep -o '<Counters [^>]*' "$1")
  total=$(attribute "$counters" total)
  executed=$(attribute "$counters" executed)
  succeeded=$(attribute "$counters" passed)
  passed=$((passed + succeeded))
  failed=$((failed + executed - succeeded))
  skipped=$((skipped + total - executed))
}

attribute() {
  sed -E "s/.* $2=\"([0-9]+)\".*/\1/" <<<"$1"
}

# Runs a project, with a second argument, NAME=value, with that in the environment, and with a third only the tests that this filter lets through.
run_project() {
  local project=$1 setting=${2:-} filter=${3:-} name report before=$failed
  name=$(basename "$project" .csproj)${setting:+ with $setting}
  report=$scratch/${name//[ =]/-}.trx
  echo "Running $name"
  env ${setting:+"$setting"} dotnet test "$project" --no-build --configuration "$configuration" --verbosity quiet ${filter:+--filter "$filter"} \
    --logger "console;verbosity=minimal" --logger "trx;LogFileName=$report" \
    --blame-hang-timeout "$hang_timeout" --blame-hang-dump-type none --results-directory "$scratch/$name" </dev/null |
    grep -vE "^(Test run for|A total of|Data collector|Results File:|$)"
  count_run "$name" "${PIPESTATUS[0]}" "$report" "$before"
}

# Adds up what a run has reported. One that fails without a test that does counts as a failure.
count_run() {
  local name=$1 exit_code=$2 report=$3 before=$4
  if [ -s "$report" ]; then
    count "$report"
  else
    exit_code="$exit_code and without a report"
  fi
  if [ "$exit_code" != 0 ] && [ "$failed" -eq "$before" ]; then
    echo "$name ended with exit code $exit_code, and no test of it failed. That counts as one failure."
    failed=$((failed + 1))
  fi
}

# Runs a project that is built as a user without any privilege, as a service has it. Whoever is not root is such a user already.
run_as_nobody() {
  local name=$1 before=$failed
  if [ "$(id -u)" -ne 0 ]; then return; fi
  echo "Running $name as nobody"
  chown nobody "$home"
  env HOME="$home" TMPDIR="$home" DOTNET_CLI_HOME="$home" \
    setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    dotnet test "tests/$name/bin/$configuration/net10.0/$name.dll" \
    --logger "console;verbosity=minimal" --logger "trx;LogFileName=$home/$name.trx" \
    --blame-hang-timeout "$hang_timeout" --blame-hang-dump-type none --results-directory "$home/$name" </dev/null |
    grep -vE "^(VSTest version|Starting test|A total of|Data collector|Results File:|$)"
  count_run "$name as nobody" "${PIPESTATUS[0]}" "$home/$name.trx" "$before"
}

install_missing_packages

echo "Building"
if ! dotnet build FastCgi.AspNetCore.sln --configuration "$configuration" --verbosity quiet </dev/null >"$scratch/build.log" 2>&1; then
  grep -E "error|warning" "$scratch/build.log" | sort --unique | head -n 50
  finish "The build failed, so no test ran."
fi

# Of the room that runs the application, a million schedules in all.
export FASTCGI_EXPLORED_SCHEDULES=460000
for project in tests/*/*.csproj samples/*/*.csproj; do
  # A library that tests share is no test project.
  if [ "$(dotnet msbuild "$project" -getProperty:IsTestProject)" = true ]; then run_project "$project"; fi
done

# The machine's culture must not show in what is read and written. Turkish has rules of its own for case; containers often have no cultures.
for setting in LC_ALL=tr_TR.UTF-8 DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1; do
  for name in FastCgi.AspNetCore.Tests FastCgi.AspNetCore.InMemoryTests; do
    run_project "tests/$name/$name.csproj" "$setting" "Category!=Exploration"
  done
done

# Root may do what a service account and a container may not.
for name in FastCgi.AspNetCore.HostingTests FastCgi.AspNetCore.TransportTests FastCgi.AspNetCore.ProcessTests FastCgi.AspNetCore.LifeCycleTests; do
  run_as_nobody "$name"
done

# The engine of other systems, behind the two web servers that most use.
run_project tests/FastCgi.AspNetCore.FunctionalTests/FastCgi.AspNetCore.FunctionalTests.csproj FastCgi__Transport__Engine=Socket \
  "DisplayName~nginx|DisplayName~apache"
finish
