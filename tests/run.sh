#!/usr/bin/env bash
# Builds everything and runs every test project, of the library and of the samples, two at a time, and checks the formatting.
#   tests/run.sh [PROJECT] [FILTER]
# runs one project, by its short or full name (InMemoryTests), and of it the tests whose name has FILTER, or that a filter of dotnet test lets through.
# Installs the web servers and clients that the tests start, if they are missing; UnitTests and InMemoryTests need none. The last line is "N passed, N failed, N skipped"; the exit code is 0
# if something passed and nothing failed. FastCgi__Transport__Engine=Socket tests/run.sh runs the tests on that engine; without it they run on the
# default, epoll, and a part of them on Socket.
set -uo pipefail
cd "$(dirname "$0")/.."

# The lines of a run are in one language, whatever culture the tests run with.
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_UI_LANGUAGE=en DEBIAN_FRONTEND=noninteractive
# Warnings are errors.
export CI=true
# A process of the tests lives for a minute or two. To count what its code does, so that it is compiled better later, costs a sixth of the time.
export DOTNET_TieredPGO=0
# An ordinary user's search path lacks the folder of the servers.
PATH=$PATH:/usr/sbin

configuration=Release
# A test that takes five minutes hangs: it is named, and its run ends after fifteen. A collector that looks on (--blame-hang-timeout) would cost a
# fifth of the time of a run with many tests.
run_settings=(xUnit.DiagnosticMessages=true xUnit.LongRunningTestSeconds=300 RunConfiguration.TestSessionTimeout=900000)
# Lines of a run that say nothing, as a pattern.
uninteresting='^(VSTest version|Starting test|Test run for|A total of|Results File:|$|Passed!)|Non-serializable data'
# What the tests run or load, and the Debian package that has it.
programs=(nginx:nginx apache2:apache2-bin lighttpd:lighttpd haproxy:haproxy caddy:caddy h2o:h2o spawn-fcgi:spawn-fcgi
  systemd-socket-activate:systemd ab:apache2-utils wrk:wrk ss:iproute2 curl:curl chromium:chromium node:nodejs npm:npm gcc:gcc /usr/include/stdlib.h:libc6-dev
  /usr/lib/apache2/modules/mod_fcgid.so:libapache2-mod-fcgid /usr/lib/apache2/modules/mod_xsendfile.so:libapache2-mod-xsendfile
  /usr/lib/lighttpd/mod_openssl.so:lighttpd-mod-openssl)

scratch=$(mktemp -d)
# Of the user without privileges, who may not read the other.
home=$(mktemp -d)
# Debian starts a server that it installs, unless this file says no.
policy=/usr/sbin/policy-rc.d
has_own_policy=false
only=${1:-} only_filter=${2:-}

clean_up() {
  local job
  for job in $(jobs -pr); do kill -- "-$job"; done
  rm -rf "$scratch" "$home"
  if $has_own_policy; then rm -f "$policy"; fi
  has_own_policy=false
}
trap clean_up EXIT

# Ends with the last line, the sum of what the jobs have counted; what is given is why there is nothing more to report.
finish() {
  local passed=0 failed=0 skipped=0 counts
  if [ $# -gt 0 ]; then echo "$1"; fi
  for counts in "$scratch"/*.counts; do
    if [ ! -e "$counts" ]; then continue; fi
    read -r -a counts <"$counts"
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
  done
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

attribute() {
  sed -E "s/.* $2=\"([0-9]+)\".*/\1/" <<<"$1"
}

# Reads what a run has reported: passed, failed, skipped. One that fails without a test that does counts as a failure.
count_run() {
  local name=$1 exit_code=$2 report=$3 passed=0 failed=0 skipped=0 counters
  if [ -s "$report" ]; then
    counters=$(grep -o '<Counters [^>]*' "$report")
    passed=$(attribute "$counters" passed)
    # What is neither executed nor passed was skipped.
    failed=$(($(attribute "$counters" executed) - passed))
    skipped=$(($(attribute "$counters" total) - passed - failed))
  else
    exit_code="$exit_code and without a report"
  fi
  if [ "$exit_code" != 0 ] && [ "$failed" -eq 0 ]; then
    echo "$name ended with exit code $exit_code, and no test of it failed. That counts as one failure."
    failed=1
  fi
  echo "$passed $failed $skipped" >"$scratch/$BASHPID.counts"
  echo "$name: $passed passed, $failed failed, $skipped skipped, $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

# The assembly of a test project.
assembly_of() {
  echo "$1/bin/$configuration/net10.0/$(basename "$1").dll"
}

# Runs a test assembly: its project, a filter of its tests, and what is for env: NAME=value as often as wanted, and a command to run it by.
run_project() {
  local project=$1 filter=${2:-} settings=("${@:3}") name report
  name=$(basename "$project")${settings:+ with ${settings[*]}}${filter:+ ($filter)}
  report=$scratch/$BASHPID.trx
  env "${settings[@]}" dotnet test "$(assembly_of "$project")" ${filter:+--filter "$filter"} \
    --logger "console;verbosity=minimal" --logger "trx;LogFileName=$report" --results-directory "$scratch/$BASHPID" -- "${run_settings[@]}" </dev/null |
    grep -vE "$uninteresting"
  count_run "$name" "${PIPESTATUS[0]}" "$report"
}

# Runs a project that is built as a user without any privilege, as a service has it. NAME=value for env may follow.
run_as_nobody() {
  local name=$1
  env HOME="$home" TMPDIR="$home" DOTNET_CLI_HOME="$home" "${@:2}" \
    setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    dotnet test "$(assembly_of "tests/$name")" \
    --logger "console;verbosity=minimal" --logger "trx;LogFileName=$home/$name.trx" --results-directory "$home/$name" -- "${run_settings[@]}" </dev/null |
    grep -vE "$uninteresting"
  count_run "$name as nobody" "${PIPESTATUS[0]}" "$home/$name.trx"
}

# Counts as one test. White space needs no project to be loaded; the build has run the analyzers of the style, and SourceTests look at the usings.
check_format() {
  local failed=0
  dotnet format whitespace . --folder --verify-no-changes </dev/null 2>&1 || failed=1
  echo "$((1 - failed)) $failed 0" >"$scratch/$BASHPID.counts"
  if [ $failed = 1 ]; then echo "dotnet format mends this."; fi
  echo "Formatting: $((1 - failed)) passed, $failed failed, $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

# Counts as one test: half a minute of requests of all kinds. The long form is tests/Soak/run.sh.
check_soak() {
  local failed=0
  env "$optimized" tests/Soak/run.sh --no-build --seconds 30 </dev/null 2>&1 || failed=1
  echo "$((1 - failed)) $failed 0" >"$scratch/$BASHPID.counts"
  echo "Soak: $((1 - failed)) passed, $failed failed, $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

# Starts a job beside the one that runs. What it writes comes at once when it ends.
start() {
  local output=$scratch/$((++jobs)).output
  # In a process group of its own, so that what it starts ends with it.
  set -m
  {
    SECONDS=0
    "$@" >"$output" 2>&1
    cat "$output"
  } &
  set +m
}

# Runs two rows of jobs side by side: those that have clocks or wait, one after the other, beside those that compute. When the first are done, the
# others run two at a time.
run_jobs() {
  local waiting_job='' job
  while [ ${#waiting[@]} -gt 0 ] || [ ${#computing[@]} -gt 0 ]; do
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
    if [ ${#waiting[@]} -gt 0 ] && ! { [ -n "$waiting_job" ] && kill -0 "$waiting_job" 2>/dev/null; }; then
      job=${waiting[0]} waiting=("${waiting[@]:1}")
      eval "start $job"
      waiting_job=$!
    elif [ ${#computing[@]} -gt 0 ]; then
      job=${computing[0]} computing=("${computing[@]:1}")
      eval "start $job"
    else
      wait -n
    fi
  done
  wait
}

# The test project of this short or full name.
find_project() {
  local project
  for project in tests/*/*.csproj samples/*/*.csproj; do
    case $(basename "$project" .csproj) in
      "$1" | "FastCgi.AspNetCore.$1") dirname "$project" && return ;;
    esac
  done
}

build() {
  echo "Building"
  # One compiler for all projects, whatever the environment says: it starts once, and ends when the last is built.
  if ! dotnet build "$1" --configuration "$configuration" --verbosity quiet -p:UseSharedCompilation=true </dev/null >"$scratch/build.log" 2>&1; then
    grep -E "error|warning" "$scratch/build.log" | sort --unique | head -n 50
    finish "The build failed, so no test ran."
  fi
  dotnet build-server shutdown --vbcscompiler </dev/null >"$scratch/build.log" 2>&1
  echo "Built in $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

# These need the SDK and nothing else, and run as any user.
case ${only#FastCgi.AspNetCore.} in
  UnitTests | InMemoryTests) ;;
  *) install_missing_packages ;;
esac
SECONDS=0
jobs=0

if [ -n "$only" ]; then
  project=$(find_project "$only")
  if [ -z "$project" ]; then finish "No test project is called '$only'."; fi
  build "$project"
  SECONDS=0
  run_project "$project" "$only_filter"
  finish
fi

build FastCgi.AspNetCore.sln
started=$SECONDS
tests=tests/FastCgi.AspNetCore
# Of the room that runs the application, with those that are always explored 280,000 schedules in all. A million take three minutes more.
export FASTCGI_EXPLORED_SCHEDULES=100000
chown nobody "$home" 2>/dev/null || true

# Nor is code that is called often compiled a second time: most of it is not called so often that this pays, and it costs up to a fourth of the time.
# Some tests have it compiled: where threads meet, because optimized code shows races that other code hides, and where much is computed.
export DOTNET_TC_CallCounting=0
optimized=DOTNET_TC_CallCounting=1

# Those that measure time, or restart processes and wait for them.
waiting=()
for name in ProcessTests SocketTests; do
  settings=
  if [ "$name" = SocketTests ]; then settings=$optimized; fi
  # Root may do what a service account and a container may not, so that the tests run as such a user; as root, those that ask who runs them.
  if [ "$(id -u)" -eq 0 ]; then
    waiting+=("run_as_nobody FastCgi.AspNetCore.$name $settings" "run_project $tests.$name Category=Users $settings")
  else
    waiting+=("run_project $tests.$name '' $settings")
  fi
done

# The threads of an exploration take turns: on one processor, the next one need not be woken on another, which costs a third.
processor=$(awk '/^Cpus_allowed_list/ { split($2, list, /[-,]/); print list[1] }' /proc/self/status)
# The engine of other systems, behind the two web servers that most use: what is large or slow, and who leaves. What is read from the parameters, and
# what is said of a mistake in a set-up, do not depend on it.
socket_engine='(DisplayName~nginx|DisplayName~apache)&(FullyQualifiedName~ResponseTests|FullyQualifiedName~UploadTests|FullyQualifiedName~StreamingTests|'
socket_engine+='FullyQualifiedName~ConcurrencyTests|FullyQualifiedName~ClientGoneTests|FullyQualifiedName~FailureTests|FullyQualifiedName~SendFileTests)'
computing=("run_project $tests.PackageTests" "run_project $tests.InMemoryTests Category=Exploration $optimized taskset --cpu-list $processor"
  "run_project $tests.FrontEndTests" "run_project $tests.FrontEndTests '$socket_engine' FastCgi__Transport__Engine=Socket"
  check_format check_soak "run_project $tests.ParityTests")
# Whatever else is a test project.
for project in {tests,samples}/*/; do
  project=${project%/}
  if [[ " ${waiting[*]} ${computing[*]} $tests.UnitTests " != *" $project "* ]] && [ -e "$(dirname "$(assembly_of "$project")")/xunit.runner.visualstudio.testadapter.dll" ]; then
    computing+=("run_project $project")
  fi
done
# Turkish has rules of its own for case. tests/nightly.sh has the other cultures and orders.
turkish=LC_ALL=tr_TR.UTF-8
computing+=("run_project $tests.UnitTests '' $turkish" "run_project $tests.InMemoryTests 'Category!=Exploration' $turkish $optimized")

run_jobs
# The one that the tests of the package have started.
dotnet build-server shutdown --vbcscompiler </dev/null >"$scratch/build.log" 2>&1
echo "Tested in $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s"
finish
