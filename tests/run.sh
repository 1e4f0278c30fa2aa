#!/usr/bin/env bash
# Builds and runs the tests.
#   tests/run.sh                     everything, with the formatting and some seconds of load
#   tests/run.sh PROJECT [FILTER]    one project, by its short or full name (UnitTests); of it the tests whose name has FILTER, or a filter of dotnet test
# The web servers and programs that a project starts are installed if they are missing and this runs as root; else it says which they are. UnitTests and
# InMemoryTests need the SDK alone. The last line is "N passed, N failed, N skipped"; the exit code is 0 if something passed and nothing failed.
# FastCgi__Transport__Engine=Socket tests/run.sh runs the tests on that engine; without it they run on epoll, and a part of them on Socket too.
set -uo pipefail
cd "$(dirname "$0")/.."

# CI makes warnings errors. To count what the code does, so that it is compiled better later, does not pay in processes that live for a minute.
export CI=true DOTNET_TieredPGO=0 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_UI_LANGUAGE=en DEBIAN_FRONTEND=noninteractive
# An ordinary user's search path lacks the folder of the servers.
PATH=$PATH:/usr/sbin
# A test that takes five minutes hangs: it is named, and its run ends after fifteen.
run_settings=(xUnit.DiagnosticMessages=true xUnit.LongRunningTestSeconds=300 RunConfiguration.TestSessionTimeout=900000)
# Lines of a run that say nothing.
uninteresting='^(VSTest version|Starting test|Test run for|A total of|Results File:|$|Passed!)|Non-serializable data'
scratch=$(mktemp -d)
# The user without privileges writes reports there too.
chmod 1777 "$scratch"
# Debian starts a server that it installs, unless this file says no.
policy=/usr/sbin/policy-rc.d
has_own_policy=false

clean_up() {
  local job
  for job in $(jobs -pr); do kill -- "-$job"; done
  if $has_own_policy; then rm -f "$policy"; fi
  rm -rf "$scratch"
}
trap clean_up EXIT

# Ends with the sum of what the runs have counted; an argument says why there is nothing more to report.
finish() {
  local passed failed skipped
  if [ $# -gt 0 ]; then echo "$1"; fi
  read -r passed failed skipped < <(cat "$scratch"/*.counts 2>/dev/null | awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $# -eq 0 ] && [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
  exit
}

# The Debian packages that a project needs, and the program or file of a package whose name is another.
declare -A needs=(
  [SocketTests]='chromium'
  [FrontEndTests]='nginx apache2-bin libapache2-mod-xsendfile lighttpd lighttpd-mod-openssl lighttpd-modules-lua haproxy caddy h2o curl'
  [Client.Tests]='php-fpm libfcgi-dev gcc libc6-dev golang-go'
  [ProcessTests]='nginx apache2-bin libapache2-mod-fcgid lighttpd haproxy h2o spawn-fcgi systemd apache2-utils curl gcc libc6-dev'
  [ParityTests]='nginx apache2-bin nodejs npm'
  [PackageTests]='nginx apache2 openssl iproute2 curl git unzip'
  [Samples.Tests]='nginx apache2-bin libapache2-mod-fcgid lighttpd php-cgi chromium curl openssl'
  [Tool.Tests]='nginx apache2-bin lighttpd haproxy caddy curl'
)
declare -A shown_by=(
  [apache2]=a2enmod [apache2-bin]=apache2 [apache2-utils]=ab [iproute2]=ss [nodejs]=node [systemd]=systemd-socket-activate [libc6-dev]=/usr/include/stdlib.h
  [lighttpd-mod-openssl]=/usr/lib/lighttpd/mod_openssl.so [lighttpd-modules-lua]=/usr/lib/lighttpd/mod_magnet.so [libapache2-mod-fcgid]=/usr/lib/apache2/modules/mod_fcgid.so
  [php-fpm]=/etc/php [libfcgi-dev]=/usr/include/fcgiapp.h [golang-go]=go
  [libapache2-mod-xsendfile]=/usr/lib/apache2/modules/mod_xsendfile.so
)

install_packages() {
  local package sign missing=()
  for package in $(printf '%s\n' "$@" | sort --unique); do
    sign=${shown_by[$package]:-$package}
    command -v "$sign" >/dev/null || [ -e "$sign" ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    finish "The tests need these Debian packages: ${missing[*]}. Install them, or run this as root."
  fi
  echo "Installing ${missing[*]}"
  if [ ! -e "$policy" ]; then
    has_own_policy=true
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  if ! { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; } </dev/null >"$scratch/install.log" 2>&1; then
    tail -n 20 "$scratch/install.log"
    finish "Installing failed."
  fi
}

build() {
  # One compiler for all projects, whatever the environment says: it starts once, and ends when the last is built.
  if ! dotnet build "$1" --configuration Release --verbosity quiet -p:UseSharedCompilation=true </dev/null >"$scratch/build.log" 2>&1; then
    grep -E "error|warning" "$scratch/build.log" | sort --unique | head -n 50
    finish "The build failed, so no test ran."
  fi
  dotnet build-server shutdown --vbcscompiler </dev/null >"$scratch/build.log" 2>&1
  echo "Built in $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

# Counts a run, and says it: its name, its exit code, how many passed, failed and were skipped. One that fails without a test that does is a failure.
report() {
  local failed=$4
  if [ "$2" != 0 ] && [ "$failed" -eq 0 ]; then
    failed=1
    echo "$1 ended with exit code $2, and no test of it failed. That counts as one failure."
  fi
  echo "$3 $failed $5" >"$(mktemp "$scratch/XXXXXX.counts")"
  echo "$1: $3 passed, $failed failed, $5 skipped, $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s"
}

# Runs a test assembly: its project, a filter of its tests, and what is for env: NAME=value as often as wanted, and a command to run it by.
run_project() {
  local name results started=$SECONDS codes total executed passed
  name=$(basename "$1")
  if [[ " $* " == *nobody* ]]; then name+=' as nobody'; fi
  name+=${2:+ ($2)}
  results=$(mktemp -d "$scratch/XXXXXX")
  chmod 777 "$results"
  env "${@:3}" dotnet test "$1/bin/Release/net10.0/$(basename "$1").dll" ${2:+--filter "$2"} --logger "console;verbosity=minimal" \
    --logger "trx;LogFileName=$results/report.trx" --results-directory "$results" -- "${run_settings[@]}" </dev/null | grep -vE "$uninteresting"
  codes=("${PIPESTATUS[@]}")
  read -r total executed passed < <(sed -nE 's/.*<Counters total="([0-9]+)" executed="([0-9]+)" passed="([0-9]+)".*/\1 \2 \3/p' "$results/report.trx" 2>/dev/null || true)
  if [ -z "${total:-}" ]; then codes[0]+=' and without a report'; fi
  report "$name" "${codes[0]}" "${passed:-0}" $((${executed:-0} - ${passed:-0})) $((${total:-0} - ${executed:-0}))
}

# Counts as one test: its name, and a command.
run_command() {
  local started=$SECONDS
  if "${@:2}" </dev/null 2>&1; then report "$1" 0 1 0 0; else report "$1" 0 0 1 0; fi
}

# Those that measure time, or restart processes and wait for them: one after the other. Root may do what a service account and a container may not, so
# that they run as a user without any privilege; as root, those that ask who runs them.
run_waiting() {
  local project nobody=(HOME="$scratch/home" TMPDIR="$scratch/home" DOTNET_CLI_HOME="$scratch/home"
    setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all)
  for project in "$tests.ProcessTests" "$tests.SocketTests"; do
    if [ "$(id -u)" -ne 0 ]; then
      run_project "$project" '' $optimized
    else
      run_project "$project" '' $optimized "${nobody[@]}"
      run_project "$project" Category=Users $optimized
    fi
  done
}

# Starts a job when fewer than two run. What it writes comes when it ends; it has a process group of its own, so that what it starts ends with it.
start() {
  local output
  output=$(mktemp "$scratch/XXXXXX.output")
  while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
  set -m
  {
    "$@" >"$output" 2>&1
    cat "$output"
  } &
  set +m
}

tests=tests/FastCgi.AspNetCore
if [ $# -gt 0 ]; then
  project=$(ls {tests,samples}/*/{"$1","FastCgi.AspNetCore.$1"}.csproj 2>/dev/null | head -n 1)
  if [ -z "$project" ]; then finish "No test project is called '$1'."; fi
  name=$(basename "$project" .csproj)
  name=${name#FastCgi.}
  install_packages ${needs[${name#AspNetCore.}]:-}
  build "$project"
  run_project "$(dirname "$project")" "${2:-}"
  finish
fi

install_packages ${needs[*]}
mkdir "$scratch/home"
chown nobody "$scratch/home" 2>/dev/null || true
SECONDS=0
build FastCgi.AspNetCore.sln
built=$SECONDS
# With those that are always explored, 280,000 schedules. A million take three minutes more.
export FASTCGI_EXPLORED_SCHEDULES=100000
# Code that is called often is compiled a second time only where threads meet, because that shows races, and where much is computed.
export DOTNET_TC_CallCounting=0
optimized=DOTNET_TC_CallCounting=1
# The threads of an exploration take turns: on one processor, the next one need not be woken on another, which costs a third.
processor=$(awk '/^Cpus_allowed_list/ { split($2, list, /[-,]/); print list[1] }' /proc/self/status)
# Turkish has rules of its own for case. tests/nightly.sh has the other cultures and orders.
turkish=LC_ALL=tr_TR.UTF-8
# Behind a web server: what is large or slow, and who leaves. SocketTests run on both engines.
socket_engine='DisplayName~nginx&(FullyQualifiedName~UploadTests|FullyQualifiedName~ResponseTests|FullyQualifiedName~StreamingTests'
socket_engine+='|FullyQualifiedName~ClientGoneTests|FullyQualifiedName~FailureTests)'

start run_waiting
start run_project "$tests.PackageTests" ''
start run_project "$tests.InMemoryTests" Category=Exploration $optimized taskset --cpu-list "$processor"
start run_project "$tests.FrontEndTests" ''
start run_project "$tests.FrontEndTests" "$socket_engine" FastCgi__Transport__Engine=Socket
start run_project "$tests.ParityTests" ''
start run_project tests/FastCgi.Tool.Tests ''
start run_project tests/FastCgi.Client.Tests ''
start run_project samples/TestedApp.Tests ''
start run_project samples/Samples.Tests ''
# White space needs no project to be loaded; the build has run the analyzers of the style, and SourceTests look at the usings. dotnet format mends it.
start run_command Formatting dotnet format whitespace . --folder --verify-no-changes
start run_command Soak env $optimized tests/Soak/run.sh --no-build --seconds 16
start run_project "$tests.UnitTests" '' $turkish
start run_project "$tests.InMemoryTests" 'Category!=Exploration' $turkish $optimized
wait
dotnet build-server shutdown --vbcscompiler </dev/null >"$scratch/build.log" 2>&1
echo "Tested in $(((SECONDS - built) / 60)) min $(((SECONDS - built) % 60)) s"
finish
