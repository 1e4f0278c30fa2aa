#!/usr/bin/env bash
# Measures FastCgi.AspNetCore, Kestrel and other FastCGI servers side by side, and prints tables of medians. Takes about 30 minutes.
#   run.sh [--rounds N] [--seconds S] [--server-cores LIST] [--load-cores LIST] [--only REGEX-OF-TITLES]
# As root on Debian or Ubuntu it installs what is missing. Everything is made in a scratch folder, which is removed at the end.
set -euo pipefail
cd "$(dirname "$0")"
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)

programs=(gcc:gcc nginx:nginx-light wrk:wrk curl:curl strace:strace go:golang-go 'php-fpm*:php-fpm' 'postgres:postgresql' fastcgi-mono-server4:mono-fastcgi-server4 mcs:mono-mcs)
packages=()
for program in "${programs[@]}"; do
  compgen -c | grep -qx -- "${program%%:*}" || compgen -G "/usr/sbin/${program%%:*}" >/dev/null || packages+=("${program##*:}")
done
[ -e /usr/include/fcgiapp.h ] || packages+=(libfcgi-dev)
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then echo "Install these Debian packages, or run this as root: ${packages[*]}" >&2; exit 1; fi
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
fi

scratch=$(mktemp -d)
clean_up() {
  [ -z "${SIDE_BY_SIDE_DATABASE:-}" ] || in_database_folder pg_ctl --mode=immediate -s stop || true
  rm -rf "$scratch"
}
trap clean_up EXIT
ulimit -n "$(ulimit -Hn)"
# On one processor the runtime waits ten times as long before it compiles what is hot; all .NET servers here alike.
export DOTNET_TC_DelaySingleProcMultiplier=1

# PostgreSQL refuses to run as root.
in_database_folder() {
  if [ "$(id -u)" -eq 0 ]; then runuser -u nobody -- env PATH="$PATH" PGDATA="$scratch/database/data" "$@"; else PGDATA="$scratch/database/data" "$@"; fi
}

start_database() {
  mkdir "$scratch/database"
  chmod 711 "$scratch"
  [ "$(id -u)" -ne 0 ] || chown nobody "$scratch/database"
  in_database_folder initdb --username=site --auth=trust --no-sync >/dev/null
  export SIDE_BY_SIDE_DATABASE="Host=$scratch/database;Username=site;Database=postgres;Maximum Pool Size=32"
  in_database_folder pg_ctl -s -w -l "$scratch/database/log" -o "-c listen_addresses= -c unix_socket_directories=$scratch/database -c fsync=off" start
  in_database_folder psql -q -h "$scratch/database" -U site postgres \
    -c "CREATE TABLE fortune (id int PRIMARY KEY, message text NOT NULL)" \
    -c "INSERT INTO fortune SELECT i, 'A fortune with <markup> & an accent: é, number ' || i FROM generate_series(1, 12) i"
}

echo "Building" >&2
tools=$scratch/tools
mkdir "$tools"
gcc -O2 -pthread -o "$tools/fcgiload" load/fcgiload.c
gcc -O2 -o "$tools/floor" peers/floor.c
gcc -O2 -pthread -o "$tools/libfcgi" peers/libfcgi.c -lfcgi
(cd peers && GOCACHE=$scratch/go go build -o "$tools/go-peer" peer.go)
ln -s "$(ls /usr/sbin/php-fpm* | tail -n 1)" "$tools/php-fpm"
cp load/wrk-report.lua peers/index.php peers/index.ashx "$tools"
dotnet publish Site -c Release -v quiet -o "$scratch/site" >/dev/null
dotnet build Driver -c Release -v quiet -o "$scratch/driver" >/dev/null
start_database

model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$(nproc) cores of ${model:-unknown}, Linux $(uname -r), .NET $(dotnet --version), nginx $(nginx -v 2>&1 | sed 's/.*\///'), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
echo
dotnet "$scratch/driver/SideBySide.Driver.dll" --tools "$tools" --site "$scratch/site" "$@"
