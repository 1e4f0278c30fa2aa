#!/usr/bin/env bash
# Repeats measurements that the authors of earlier FastCGI servers for .NET published: ab, through nginx, on this server
# and on Kestrel. Prints a table for each. Published figures come from other machines, so compare only within a table.
#   run.sh [ladder|session|async|small|sockets]...
# Takes ten minutes. As root on Debian or Ubuntu, it installs missing packages. SCALE=10 makes a tenth of the requests.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)
. ../common.sh

scale=${SCALE:-1}
site=$scratch/site
# Idle threads of Kestrel spin, as in an application without our package.
kestrel_spinning=DOTNET_ThreadPool_UnfairSemaphoreSpinLimit=46
processes=()
prefix=()

stop_all() {
  [ ${#processes[@]} -eq 0 ] || kill "${processes[@]}" 2>/dev/null || true
  wait "${processes[@]}" 2>/dev/null || true
  processes=()
}
trap 'stop_all; clean_up' EXIT

# Starts the application on this server (fastcgi) or on Kestrel, at a URL. More arguments are its options.
start_site() {
  local spinning=()
  [ "$1" = fastcgi ] || spinning=("$kestrel_spinning")
  env "${spinning[@]}" "${prefix[@]}" dotnet "$site/SideBySide.Site.dll" --server "$1" --urls "$2" "${@:3}" \
    >"$scratch/site.log" 2>&1 &
  processes+=($!)
}

# Starts nginx on a port. Arguments: the port, fastcgi or proxy, the address of the application, and whether nginx keeps
# connections open (on or off).
start_nginx() {
  local folder=$scratch/nginx-$1 pass
  mkdir -p "$folder"
  if [ "$2" = proxy ]; then
    pass="proxy_http_version 1.1; proxy_set_header Connection ''; proxy_pass http://backend;"
  else
    pass="include /etc/nginx/fastcgi_params; fastcgi_keep_conn $4; fastcgi_pass backend;"
  fi
  cat >"$folder/nginx.conf" <<END
daemon off; worker_processes 1; pid $folder/pid; user root; worker_rlimit_nofile 20000;
events { worker_connections 8000; }
http {
  access_log off; error_log $folder/error.log crit; keepalive_requests 1000000000;
  client_body_temp_path $folder; proxy_temp_path $folder; fastcgi_temp_path $folder;
  upstream backend { server $3; keepalive 512; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:$1 backlog=4096; location / { $pass } }
}
END
  "${prefix[@]}" nginx -e "$folder/error.log" -c "$folder/nginx.conf" &
  processes+=($!)
}

# Waits for a page.
await() {
  local i
  for i in {1..300}; do
    curl -sf -o /dev/null "http://127.0.0.1:$1$2" && return
    sleep 0.1
  done
  echo "http://127.0.0.1:$1$2 does not respond." >&2
  cat "$scratch/site.log" >&2
  exit 1
}

# Runs ab, and prints requests per second, the longest request in ms, and the number of failed requests. Arguments: the
# port and path, the number of requests, and options of ab.
measure() {
  local requests=$(($3 / scale))
  "${prefix[@]}" ab -q -s 30 -n "$requests" "${@:4}" "http://127.0.0.1:$1$2" 2>"$scratch/ab.log" |
    awk -v all="$requests" '
    /^Complete requests:/ { complete = $3 }
    /^Failed requests:/ { failed = $3 }
    /^Non-2xx responses:/ { failed += $3 }
    /^Requests per second:/ { rate = $4 }
    / 100% / { longest = $2 }
    END { printf "%.0f %d %d\n", rate, longest, failed + all - complete }'
}

# Prints a line of a table: a name, then the fields of each measurement.
print_row() {
  printf '| %s' "$1"
  printf ' | %s' "${@:2}"
  echo ' |'
}

print_header() {
  echo
  print_row "$@"
  printf '|---'
  printf '|--:%.0s' "${@:2}"
  echo '|'
}

warm_up() {
  await "$1" "$2"
  measure "$1" "$2" 60000 -k -c 20 >/dev/null
}

# HyperFastCgi, http://forcedtoadmin.blogspot.com/2013/12: ab -n 100000 -c 10, 20, 30. Published at 30 connections, on
# Mono 3.2: a connection per request 2,681 (TCP) and 2,949 (Unix socket), kept 3,908 and 4,483; fastcgi-mono-server4,
# 571.
ladder() {
  local socket=$scratch/ladder.sock page port name connections rates
  start_site fastcgi "fastcgi://unix:$socket;fastcgi://127.0.0.1:9101"
  start_site kestrel "http://unix:$scratch/kestrel.sock;http://127.0.0.1:9102"
  start_nginx 9103 proxy "unix:$scratch/kestrel.sock" on
  start_nginx 9104 fastcgi 127.0.0.1:9101 off
  start_nginx 9105 fastcgi "unix:$socket" off
  start_nginx 9106 fastcgi 127.0.0.1:9101 on
  start_nginx 9107 fastcgi "unix:$socket" on
  echo "### HyperFastCgi's ladder (2013)"
  for page in / /json; do
    for port in {9102..9107}; do warm_up "$port" "$page"; done
    print_header "requests/s of $page" 10 20 30
    while read -r port name; do
      rates=()
      for connections in 10 20 30; do
        rates+=("$(measure "$port" "$page" 100000 -c "$connections" | cut -d ' ' -f 1)")
      done
      print_row "$name" "${rates[@]}"
    done <<END
9102 Kestrel without nginx
9103 Kestrel, Unix socket, kept
9104 FastCgi.AspNetCore, TCP, a connection per request
9105 FastCgi.AspNetCore, Unix socket, a connection per request
9106 FastCgi.AspNetCore, TCP, kept
9107 FastCgi.AspNetCore, Unix socket, kept
END
  done
}

# The same article: a page with a session, without cookies. mod_mono stops responding after about 160,000 requests.
session() {
  local pid
  start_site fastcgi "fastcgi://unix:$scratch/session.sock" --middleware mvc
  pid=${processes[-1]}
  start_nginx 9110 fastcgi "unix:$scratch/session.sock" on
  warm_up 9110 /form
  echo "### The failure after 160,000 requests (2013)"
  print_header "" requests/s "longest, ms" failed "memory, KiB"
  for _ in 1 2 3; do
    print_row "$((200000 / scale)) requests without cookies" $(measure 9110 /form 200000 -k -c 30) \
      "$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")"
  done
}

# AsyncFastCGI.NET, https://github.com/bolner/AsyncFastCGI.NET: ab -kc 400 -n 200000, without a warm-up. Published: kept
# 9,112 (longest 92 ms), not kept 19,894 (2,044 ms), node-fastcgi 21,411 (1,062 ms).
async() {
  local keep port=9120
  echo "### AsyncFastCGI.NET's table (2019)"
  print_header "" requests/s "longest, ms" failed
  for keep in on off; do
    start_site fastcgi "fastcgi://127.0.0.1:$((port + 1))"
    start_nginx $port fastcgi "127.0.0.1:$((port + 1))" $keep
    await $port /
    print_row "fastcgi_keep_conn $keep" $(measure $port / 200000 -k -c 400)
    stop_all
    port=$((port + 2))
  done
}

# Mono against IIS, https://www.enburg.rocks/2018/06/fastcgi-mono-server-outperforms-iis.html: a page with 50 rows, one
# processor, sequential and 10 at a time. Published: fastcgi-mono-server4 50.1 and 48.0, IIS 36.3 and 38.1.
small() {
  local name port database
  add_database_programs
  start_database
  create_articles
  database=$(head -n 1 "$scratch/database/data/postmaster.pid")
  taskset -a -p -c 0 "$database" >"$scratch/taskset.log"
  prefix=(taskset -c 0)
  export DOTNET_TC_DelaySingleProcMultiplier=1
  start_site fastcgi "fastcgi://unix:$scratch/small.sock" --database "$SIDE_BY_SIDE_DATABASE"
  start_site kestrel "http://unix:$scratch/small-http.sock" --database "$SIDE_BY_SIDE_DATABASE"
  start_nginx 9130 fastcgi "unix:$scratch/small.sock" on
  start_nginx 9131 proxy "unix:$scratch/small-http.sock" on
  warm_up 9130 /npgsql/50
  warm_up 9131 /npgsql/50
  echo "### A small machine (2018)"
  print_header "requests/s of a page with 50 rows, without await" sequential "10 at a time"
  while read -r port name; do
    print_row "$name" "$(measure "$port" /npgsql/50 20000 -c 1 | cut -d ' ' -f 1)" \
      "$(measure "$port" /npgsql/50 20000 -c 10 | cut -d ' ' -f 1)"
  done <<END
9130 FastCgi.AspNetCore
9131 Kestrel
END
  prefix=()
}

# An F# server, https://t0yv0.blogspot.com/2011/11/f-web-server-from-sockets-and-up.html: ab -k -c 1000 -n 10000, with
# and without -k. Published: F# 3,500 and 1,000, IIS and HttpListener 2,500 and 500, warp 3,500 and 3,500.
sockets() {
  local name port
  start_site fastcgi "fastcgi://unix:$scratch/sockets.sock"
  start_site kestrel http://127.0.0.1:9141
  start_nginx 9140 fastcgi "unix:$scratch/sockets.sock" on
  warm_up 9140 /
  warm_up 9141 /
  echo "### A socket server in F# (2011)"
  print_header "1,000 connections" "requests/s, kept" "longest, ms" failed "requests/s, not kept" "longest, ms" failed
  while read -r port name; do
    print_row "$name" $(measure "$port" / 100000 -k -c 1000) $(measure "$port" / 100000 -c 1000)
  done <<END
9140 FastCgi.AspNetCore
9141 Kestrel without nginx
END
}

records=("$@")
[ $# -gt 0 ] || records=(ladder session async small sockets)
add_database_programs
install_missing curl:curl nginx:nginx-light ab:apache2-utils postgres:postgresql
ulimit -n "$(ulimit -Hn)"
mkdir -p "$scratch"
echo "Building" >&2
[ -e "$site/SideBySide.Site.dll" ] || quietly dotnet publish ../side-by-side/Site -c Release -o "$site" \
  --artifacts-path "$scratch/artifacts"
echo "$(describe_machine)."
for record in "${records[@]}"; do
  echo
  "$record"
  stop_all
done
