#!/usr/bin/env bash
# Repeats each known published measurement of a FastCGI or .NET server, with this server alongside, and prints tables.
# Without --only, it also rewrites results.md, images/ and the table of records in ../README.md.
#   run.sh [--quick] [--only ladder|session|comparers|node|small|held|sockets]
# Takes 25 minutes on an idle machine; with --quick, 6. As root on Debian or Ubuntu, it installs missing packages.
# The exit code is 1 if a record could not be measured; a missed record is not an error.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)
. ../common.sh
trap 'kill "$driver" 2>/dev/null && wait "$driver"; clean_up' EXIT
trap 'exit 143' TERM INT
driver=

add_database_programs
install_missing gcc:gcc nginx:nginx-light wrk:wrk ab:apache2-utils postgres:postgresql node:nodejs npm:npm \
  fastcgi-mono-server4:mono-fastcgi-server4 mcs:mono-mcs
add_database_programs
ulimit -n "$(ulimit -Hn)"

echo "Building" >&2
build_tools
cp peers/node-peer.js peers/json.ashx ../side-by-side/peers/index.ashx "$scratch/tools"
# If this fails, its rows are omitted.
npm install --silent --no-audit --no-fund --prefix "$scratch/node" node-fastcgi@2.0.0 >&2 || echo "node-fastcgi could not be installed." >&2
export NODE_PATH=$scratch/node/node_modules
quietly dotnet publish Site -c Release -o "$scratch/site" --artifacts-path "$scratch/artifacts"
quietly dotnet build Driver -c Release -o "$scratch/history" --artifacts-path "$scratch/artifacts"
start_database
query_database -c "CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL, description text NOT NULL, price numeric(8, 2) NOT NULL)" \
  -c "INSERT INTO product SELECT i, 'Product ' || i, 'Words that describe product ' || i || ' & <others>', i * 1.25 FROM generate_series(1, 500) i"

# On one processor, the runtime waits ten times as long before it recompiles hot code. This applies to all .NET servers.
export DOTNET_TC_DelaySingleProcMultiplier=1
# With --only, the image goes into the scratch folder.
images=$PWD/images
! has_option --only "$@" || images=$scratch/images
dotnet "$scratch/history/History.Driver.dll" --tools "$scratch/tools" --site "$scratch/site" --machine "$(describe_machine)" \
  --images "$images" --results "$PWD/results.md" --readme "$repository/perf/README.md" "$@" &
driver=$!
wait "$driver"
