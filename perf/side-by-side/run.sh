#!/usr/bin/env bash
# Measures FastCgi.AspNetCore, Kestrel and other FastCGI servers side by side. Prints tables of medians, then the
# targets.
#   run.sh [--quick] [--rounds N] [--seconds S] [--server-cores LIST] [--load-cores LIST] [--only REGEX-OF-TITLES]
#          [--pictures]
# --quick measures only what the targets need, in short runs. As root on Debian or Ubuntu, it installs missing packages.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)
. ../common.sh

trap clean_up EXIT

peers=()
has_option --quick "$@" || peers=(strace:strace go:golang-go 'php-fpm*:php-fpm' fastcgi-mono-server4:mono-fastcgi-server4 mcs:mono-mcs /usr/include/fcgiapp.h:libfcgi-dev)
add_database_programs
install_missing gcc:gcc nginx:nginx-light wrk:wrk curl:curl postgres:postgresql "${peers[@]}"
add_database_programs

ulimit -n "$(ulimit -Hn)"

build_peers() {
  gcc -O2 -pthread -o "$scratch/tools/libfcgi" peers/libfcgi.c -lfcgi
  (cd peers && GOCACHE=$scratch/go go build -o "$scratch/tools/go-peer" peer.go)
  ln -s "$(ls /usr/sbin/php-fpm* | tail -n 1)" "$scratch/tools/php-fpm"
  cp peers/index.php peers/index.ashx "$scratch/tools"
}

echo "Building" >&2
build_tools
make_package
publish_minimal
publish_template webapi --no-openapi
if ! has_option --quick "$@"; then
  publish_template mvc
  publish_template razor
  build_peers
fi
quietly dotnet publish Site -c Release -o "$scratch/site" --artifacts-path "$scratch/artifacts"
quietly dotnet build ../FastCgi.AspNetCore.Benchmarks -c Release -o "$scratch/benchmarks" --artifacts-path "$scratch/artifacts"
start_database
query_database -c "CREATE TABLE fortune (id int PRIMARY KEY, message text NOT NULL)" \
  -c "INSERT INTO fortune SELECT i, 'A fortune with <markup> & an accent: é, number ' || i FROM generate_series(1, 12) i"

# On one processor, the runtime waits ten times as long before it recompiles hot code. This applies to all .NET servers.
export DOTNET_TC_DelaySingleProcMultiplier=1
run_driver --site "$scratch/site" --benchmarks "$scratch/benchmarks/FastCgi.AspNetCore.Benchmarks.dll" "$@"
