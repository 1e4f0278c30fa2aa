#!/usr/bin/env bash
# Measures FastCgi.AspNetCore, Kestrel and other FastCGI servers side by side. Prints tables of medians, then the
# targets.
#   run.sh [--quick] [--rounds N] [--seconds S] [--server-cores LIST] [--load-cores LIST] [--only REGEX-OF-TITLES]
#          [--pictures]
#   run.sh --pages [--site FOLDER] [--against FOLDER] [--warm-up S] ...
#   run.sh --publish FOLDER
# --quick measures only what the targets need, in short runs. As root on Debian or Ubuntu, it installs missing packages.
# --pages measures only the pages that need nothing but the site, of this commit or published in a folder. With
# --against, it compares two builds of this server. --publish publishes the site of this commit. With PERF_SCRATCH, the
# load generators and the driver remain for the next run. Folders are absolute paths.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)
. ../common.sh

publish_site() {
  quietly dotnet publish Site -c Release -o "$1" --artifacts-path "$scratch/artifacts"
}

trap clean_up EXIT
mkdir -p "$scratch"
if has_option --publish "$@"; then
  publish_site "$(option --publish "$@")"
  exit
fi

peers=()
has_option --quick "$@" || has_option --pages "$@" || peers=(ab:apache2-utils strace:strace go:golang-go 'php-fpm*:php-fpm' fastcgi-mono-server4:mono-fastcgi-server4 mcs:mono-mcs /usr/include/fcgiapp.h:libfcgi-dev)
add_database_programs
install_missing gcc:gcc nginx:nginx-light wrk:wrk curl:curl postgres:postgresql "${peers[@]}"
add_database_programs

ulimit -n "$(ulimit -Hn)"

build_peers() {
  gcc -O2 -pthread -o "$scratch/tools/libfcgi" peers/libfcgi.c -lfcgi
  (cd peers && GOCACHE=$scratch/go go build -o "$scratch/tools/go-peer" peer.go)
  ln -sf "$(ls /usr/sbin/php-fpm* | tail -n 1)" "$scratch/tools/php-fpm"
  cp peers/index.php peers/index.ashx "$scratch/tools"
}

echo "Building" >&2
build_tools
site=$(option --site "$@")
if [ -z "$site" ]; then
  site=$scratch/site
  publish_site "$site"
fi
if ! has_option --pages "$@"; then
  make_package
  publish_minimal
  publish_template webapi --no-openapi
  quietly dotnet build ../FastCgi.AspNetCore.Benchmarks -c Release -o "$scratch/benchmarks" --artifacts-path "$scratch/artifacts"
fi
if ! has_option --pages "$@" && ! has_option --quick "$@"; then
  publish_template mvc
  publish_template razor
  build_peers
fi
start_database
query_database -c "CREATE TABLE fortune (id int PRIMARY KEY, message text NOT NULL)" \
  -c "INSERT INTO fortune SELECT i, 'A fortune with <markup> & an accent: é, number ' || i FROM generate_series(1, 12) i"
create_articles

# On one processor, the runtime waits ten times as long before it recompiles hot code. This applies to all .NET servers.
export DOTNET_TC_DelaySingleProcMultiplier=1
run_driver --site "$site" --benchmarks "$scratch/benchmarks/FastCgi.AspNetCore.Benchmarks.dll" "$@"
