#!/usr/bin/env bash
# Builds and runs the tests.
#   tests/run.sh                     everything, and checks the formatting
#   tests/run.sh PROJECT [FILTER]    one project, by its short or full name (UnitTests), or those of its tests whose
#                                    names contain FILTER; FILTER may also be a filter expression of dotnet test
# As root, it installs the Debian packages that a project needs (tests/packages.txt); as another user, it lists the
# missing ones and stops. The last line is "N passed, N failed, N skipped". The exit code is 0 if at least one test
# passed and none failed.
set -uo pipefail
cd "$(dirname "$0")/.."

# CI=true turns warnings into errors. Dynamic PGO does not pay off in processes that live for a minute.
export CI=true DOTNET_TieredPGO=0 DEBIAN_FRONTEND=noninteractive
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_UI_LANGUAGE=en
# Otherwise, build processes would keep running for minutes and leave files in the temporary folder.
export MSBUILDDISABLENODEREUSE=1
# With dotnet test, a test whose program is missing is skipped; here, it fails.
export FASTCGI_TEST_REQUIRE_PROGRAMS=1
# An ordinary user's search path lacks the folder of the web servers.
PATH=$PATH:/usr/sbin
# A test that takes five minutes is reported as hanging. A project is stopped after fifteen.
run_settings=(xUnit.DiagnosticMessages=true xUnit.LongRunningTestSeconds=300 RunConfiguration.TestSessionTimeout=900000)
uninteresting='^(VSTest version|Starting test|Test run for|A total of|Results File:|$|Passed!)|Non-serializable data'
# Not in $TMPDIR: the path of a Unix socket has at most 107 bytes, and users other than this one must be able to reach
# it.
scratch=$(mktemp -d /tmp/tests.XXXXXX)
# The user without privileges writes reports here too.
chmod 1777 "$scratch"
# All temporary files are deleted at the end, even those of a test that was killed.
export TMPDIR=$scratch/tmp
mkdir --mode=1777 "$TMPDIR"
# Debian starts the services of a package that it installs, unless this file forbids it.
policy=/usr/sbin/policy-rc.d
has_own_policy=false

clean_up() {
  local job
  for job in $(jobs -pr); do kill -- "-$job"; done
  if $has_own_policy; then rm -f "$policy"; fi
  rm -rf "$scratch"
}
trap clean_up EXIT

# Prints the sum of all counts, and exits. An argument gives the reason why nothing more was tested.
finish() {
  local passed failed skipped
  if [ $# -gt 0 ]; then echo "$1"; fi
  read -r passed failed skipped < <(cat "$scratch"/*.counts 2>/dev/null |
    awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $# -eq 0 ] && [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
  exit
}

# The SDK does not start without ICU, whose package has its version in its name.
icu='^libicu[0-9]+$'

# Prints the missing packages of a project, or of all projects.
list_missing() {
  local package mark projects
  if [[ $(dotnet --version 2>&1) == *libicu* ]]; then echo "$icu"; fi
  while read -r package mark projects; do
    if [[ $package == '#'* || " $projects " != *" ${1:-$projects} "* ]]; then continue; fi
    command -v "$mark" >/dev/null || compgen -G "$mark" >/dev/null || echo "$package"
  done <tests/packages.txt
}

# Removes the optional packages that this release lacks from the missing ones.
skip_unknown() {
  local package all=("${missing[@]}")
  missing=()
  for package in "${all[@]}"; do
    if ! grep -qF -- "$package? " tests/packages.txt || [ -n "$(apt-cache search --names-only "^$package\$")" ]; then
      missing+=("$package")
    else
      echo "This release lacks $package, so its tests are skipped."
    fi
  done
}

install_packages() {
  local missing
  if ! command -v dotnet >/dev/null; then finish "The .NET 10 SDK is missing: see https://dot.net/download."; fi
  # Programs that the tests start look for the runtime there, or in the usual folders.
  export DOTNET_ROOT=${DOTNET_ROOT:-$(dirname "$(readlink -f "$(command -v dotnet)")")}
  mapfile -t missing < <(list_missing "$@")
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  # An ordinary user may lack optional ones.
  if [ "$(id -u)" -ne 0 ] && [[ " ${missing[*]} " != *[^?]" "* ]]; then return; fi
  missing=("${missing[@]%\?}")
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Debian packages are missing. Run this as root, or install them:"
    finish "apt-get install ${missing[*]/"$icu"/\'$icu\'}"
  fi
  if [ ! -e "$policy" ]; then
    has_own_policy=true
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  apt-get update </dev/null >"$scratch/install.log" 2>&1
  skip_unknown
  echo "Installing ${missing[*]}"
  if ! apt-get install --yes --no-install-recommends "${missing[@]}" </dev/null >>"$scratch/install.log" 2>&1; then
    tail -n 20 "$scratch/install.log"
    finish "Installing failed."
  fi
}

build() {
  echo "Building $(basename "$1")"
  # One compiler process for all projects, whatever the environment says. It starts once, and stops after the build.
  if ! dotnet build "$1" --configuration Release --verbosity quiet -p:UseSharedCompilation=true </dev/null \
    >"$scratch/build.log" 2>&1; then
    grep -E "error|warning" "$scratch/build.log" | sort --unique | head -n 50
    finish "The build failed, so no test ran."
  fi
  stop_compiler
  echo "Built in $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

stop_compiler() {
  dotnet build-server shutdown --vbcscompiler </dev/null >"$scratch/shutdown.log" 2>&1
}

# Records and prints the result of a run: its name, exit code, and numbers of passed, failed, and skipped tests. A run
# that fails without a failed test counts as one failure.
report() {
  local failed=$4
  if [ "$2" != 0 ] && [ "$failed" -eq 0 ]; then
    failed=1
    echo "$1 ended with exit code $2, but none of its tests failed. That counts as one failure."
  fi
  echo "$3 $failed $5" >"$(mktemp "$scratch/XXXXXX.counts")"
  echo "$1: $3 passed, $failed failed, $5 skipped, $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s"
}

get_name() {
  local name
  name=$(basename "$1")
  if [[ " $* " == *nobody* ]]; then name+=' as nobody'; fi
  echo "$name${2:+ ($2)}"
}

# Extracts the numbers of all, executed, and passed tests from a report.
counters='s/.*<Counters total="([0-9]+)" executed="([0-9]+)" passed="([0-9]+)".*/\1 \2 \3/p'

# Runs a test assembly. Arguments: the project's folder, a filter, and arguments of env: any number of NAME=value, and a
# command to run it with.
run_project() {
  local name results started=$SECONDS codes total executed passed
  name=$(get_name "$@")
  results=$(mktemp -d "$scratch/XXXXXX")
  chmod 777 "$results"
  env "${@:3}" dotnet test "$1/bin/Release/net10.0/$(basename "$1").dll" ${2:+--filter "$2"} \
    --logger "console;verbosity=minimal" --logger "trx;LogFileName=$results/report.trx" --results-directory "$results" \
    -- "${run_settings[@]}" </dev/null | grep -vE "$uninteresting"
  codes=("${PIPESTATUS[@]}")
  read -r total executed passed < <(sed -nE "$counters" "$results/report.trx" 2>/dev/null || true)
  if [ -z "${total:-}" ]; then codes[0]+=' and without a report'; fi
  report "$name" "${codes[0]}" "${passed:-0}" $((${executed:-0} - ${passed:-0})) $((${total:-0} - ${executed:-0}))
}

# Runs a command that counts as one test. Arguments: a name, and the command.
run_command() {
  local started=$SECONDS
  if "${@:2}" </dev/null 2>&1; then report "$1" 0 1 0 0; else report "$1" 0 0 1 0; fi
}

# Copies the files of these tests to a folder that the user without privileges can read: the clone and the SDK may be
# in root's home.
copy_for_nobody() {
  mkdir "$scratch/clone" "$scratch/home"
  chown nobody "$scratch/home"
  cp -r --parents FastCgi.AspNetCore.sln samples/{MinimalApi,TwoApps}/bin samples/Authorizer/*.conf \
    "${projects[@]/%//bin}" "$scratch/clone"
  chmod -R a+rX "$scratch/clone"
  if ! "${as_nobody[@]}" dotnet --version >/dev/null 2>&1; then
    cp -r "$DOTNET_ROOT" "$scratch/sdk"
    chmod -R a+rX "$scratch/sdk"
    export DOTNET_ROOT=$scratch/sdk PATH=$scratch/sdk:$PATH
  fi
}

# Runs one after the other the projects that measure time, or restart processes and wait for them. Root has rights that
# a service in a container lacks. So these tests run as a user without privileges; as root, only those that depend on
# the user.
run_waiting() {
  local project projects=(tests/FastCgi.AspNetCore.{Process,Socket}Tests)
  local as_nobody=(env --chdir="$scratch" HOME="$scratch/home" DOTNET_CLI_HOME="$scratch/home"
    setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all)
  if [ "$(id -u)" -eq 0 ]; then copy_for_nobody; fi
  for project in "${projects[@]}"; do
    if [ "$(id -u)" -ne 0 ]; then
      run_project "$project" '' $optimized
    else
      run_project "$scratch/clone/$project" '' $optimized "${as_nobody[@]}"
      run_project "$project" Category=Users $optimized
    fi
  done
}

# Starts a job as soon as fewer than two are running. Its output is printed when it ends. It has its own process group,
# so that all its processes end with it.
start() {
  local output
  output=$(mktemp "$scratch/XXXXXX.output")
  while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
  case $1 in
    run_project) echo "Running $(get_name "${@:2}")" ;;
    run_command) echo "Running $2" ;;
    *) echo "Running ProcessTests and SocketTests" ;;
  esac
  set -m
  {
    "$@" >"$output" 2>&1
    cat "$output"
  } &
  set +m
}

if [ $# -gt 0 ]; then
  project=$(ls {tests,samples}/*/{,FastCgi.AspNetCore.,FastCgi.}"$1".csproj 2>/dev/null | head -n 1)
  if [ -z "$project" ]; then
    names=$(basename --suffix=.csproj --multiple {tests,samples}/*/*Tests.csproj |
      sed 's/^FastCgi\.//; s/^AspNetCore\.//' | paste --serial --delimiters ' ')
    finish "No test project is called '$1'. They are: $names"
  fi
  name=$(basename "$project" .csproj)
  name=${name#FastCgi.}
  install_packages "${name#AspNetCore.}"
  build "$project"
  echo "Running $(get_name "$(dirname "$project")" "${2:-}")"
  run_project "$(dirname "$project")" "${2:-}"
  stop_compiler
  finish
fi

install_packages
SECONDS=0
build FastCgi.AspNetCore.sln
built=$SECONDS
# 590,000 with those that always run. A million would take three minutes more.
export FASTCGI_EXPLORED_SCHEDULES=100000
# Recompiling hot code pays off only for races, which it provokes, and for long computations.
export DOTNET_TC_CallCounting=0
optimized=DOTNET_TC_CallCounting=1
# The threads of an exploration take turns. On one processor, none has to be woken up on another, which would take half
# as long again.
processor=$(awk '/^Cpus_allowed_list/ { split($2, list, /[-,]/); print list[1] }' /proc/self/status)
# Turkish has its own case rules. tests/nightly.sh runs other cultures and orders.
turkish=LC_ALL=tr_TR.UTF-8

tests=tests/FastCgi.AspNetCore
start run_waiting
start run_project "$tests.PackageTests" ''
start run_project "$tests.InMemoryTests" Category=Exploration $optimized taskset --cpu-list "$processor"
start run_project "$tests.FrontEndTests" 'Category!=Nightly'
start run_project "$tests.ParityTests" ''
start run_project tests/FastCgi.Tool.Tests ''
start run_project tests/FastCgi.Client.Tests ''
start run_project samples/TestedApp.Tests ''
start run_project samples/Samples.Tests ''
# Checking white space loads no project. The build has run the style analyzers.
# `dotnet format` fixes all of it.
start run_command Formatting dotnet format whitespace . --folder --verify-no-changes
start run_project "$tests.UnitTests" '' $turkish
start run_project "$tests.InMemoryTests" 'Category!=Exploration' $turkish $optimized
wait
stop_compiler
echo "Tested in $(((SECONDS - built) / 60)) min $(((SECONDS - built) % 60)) s"
finish
