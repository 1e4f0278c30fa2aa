#!/usr/bin/env bash
# Tests the server on arm64, emulated by qemu-user: the in-memory tests, and the MinimalApi sample behind a real nginx.
#   tests/arm64.sh [FOLDER]
# FOLDER keeps the builds and Debian's arm64 libraries for the next run (default: a temporary folder). As root, it
# installs missing Debian packages. The exit code is 0 if no test failed.
set -euo pipefail
cd "$(dirname "$0")/.."

export CI=true DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 MSBUILDDISABLENODEREUSE=1 DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin
packages=(qemu-user nginx-light curl)
scratch=$(mktemp -d /tmp/arm64.XXXXXX)
kept=${1:-$scratch}
mkdir -p "$kept"
kept=$(cd "$kept" && pwd)
processes=()

clean_up() {
  if [ ${#processes[@]} -gt 0 ]; then kill "${processes[@]}" 2>/dev/null || true; fi
  wait
  rm -rf "$scratch"
}
trap clean_up EXIT

fail() {
  echo "$1"
  if [ -e "$scratch/app.log" ]; then cat "$scratch/app.log"; fi
  if [ -e "$scratch/error.log" ]; then cat "$scratch/error.log"; fi
  exit 1
}

run_apt() {
  "$@" >"$scratch/apt.log" 2>&1 || { cat "$scratch/apt.log"; exit 1; }
}

install_packages() {
  local program missing=false
  for program in qemu-aarch64 nginx curl; do command -v "$program" >"$scratch/found" || missing=true; done
  if ! $missing; then return; fi
  if [ "$(id -u)" -ne 0 ]; then fail "Install these Debian packages: ${packages[*]}"; fi
  run_apt apt-get update
  run_apt apt-get install --yes --no-install-recommends "${packages[@]}"
}

# Downloads libraries with a separate APT, so that the packages of this machine do not change.
download_libraries() {
  local apt=(
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o Dir::State="$kept/apt/state" -o Dir::State::status="$kept/apt/status" -o Dir::Cache="$kept/apt/cache"
  )
  if [ -e "$kept/libraries/lib" ]; then return; fi
  mkdir -p "$kept"/apt/{state/lists,cache/archives}/partial
  : >"$kept/apt/status"
  run_apt apt-get "${apt[@]}" update
  run_apt apt-get "${apt[@]}" install --download-only --yes --no-install-recommends libstdc++6 openssl zlib1g
  for package in "$kept"/apt/cache/archives/*.deb; do dpkg-deb --extract "$package" "$scratch/libraries"; done
  mv "$scratch/libraries" "$kept/libraries"
}

publish() {
  dotnet publish "$1" --configuration Release --runtime linux-arm64 --self-contained --verbosity quiet \
    --artifacts-path "$kept/build" --output "$kept/$2" "${@:3}" </dev/null
}

# The emulator translates code at run time, so recompiling hot code does not pay off. It must see each write to code,
# which it does not if .NET maps the memory twice.
emulate() {
  exec env DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_TieredPGO=0 DOTNET_TieredCompilation=0 \
    DOTNET_EnableWriteXorExecute=0 \
    qemu-aarch64 -L "$kept/libraries" "$@"
}

get() {
  curl --silent --show-error --fail --max-time 300 "${@:2}" "http://127.0.0.1:$port$1"
}

# Runs the sample behind nginx: a page, a JSON request, an upload, a download, events, and a graceful stop with a
# running request.
run_behind_nginx() {
  local hash response
  port=$((20000 + RANDOM % 10000))
  cat >"$scratch/nginx.conf" <<CONFIGURATION
daemon off;
pid nginx.pid;
error_log error.log;
events {}
http {
  access_log off;
  client_max_body_size 30m;
  client_body_temp_path body;
  fastcgi_temp_path fastcgi;
  proxy_temp_path proxy;
  scgi_temp_path scgi;
  uwsgi_temp_path uwsgi;
  upstream app {
    server unix:$scratch/app.sock;
    keepalive 8;
  }
  server {
    listen 127.0.0.1:$port;
    location / {
      include /etc/nginx/fastcgi_params;
      fastcgi_param HTTP_HOST \$host:\$server_port;
      fastcgi_keep_conn on;
      fastcgi_pass app;
    }
  }
}
CONFIGURATION
  chmod 755 "$scratch"
  (emulate "$kept/sample/MinimalApi" --contentRoot "$kept/sample" \
    --urls "fastcgi://unix:$scratch/app.sock?mode=0666" --shutdownTimeoutSeconds 60) >"$scratch/app.log" 2>&1 &
  app=$!
  nginx -p "$scratch" -c nginx.conf -e error.log &
  processes=("$app" $!)
  until grep -q 'Application started' "$scratch/app.log"; do
    kill -0 "$app" 2>/dev/null || fail "The application has ended."
    sleep 0.1
  done

  get / | grep -q 'behind FastCGI' || fail "GET / returned an unexpected page."
  response=$(get '/whoami/a%20b?c=d')
  [[ $response == *"\"host\":\"127.0.0.1:$port\""*'"path":"/whoami/a b"'* ]] || fail "/whoami returned: $response"
  response=$(get /orders --json '{"item":"tea","quantity":3,"price":2}')
  [[ $response == *'"total":6'* ]] || fail "/orders returned: $response"
  head -c 20000000 /dev/urandom >"$scratch/upload"
  hash=$(sha256sum <"$scratch/upload")
  response=$(get /upload --data-binary "@$scratch/upload")
  [[ $response == *"${hash%% *}"* ]] || fail "/upload returned another hash: $response"
  [ "$(get /download/50000000 | wc -c)" -eq 50000000 ] || fail "The download is incomplete."
  for _ in {1..200}; do get / --output "$scratch/page" || fail "One of 200 requests failed."; done

  get '/ticks?count=6' >"$scratch/ticks" &
  local request=$!
  until grep -q 'data: 1' "$scratch/ticks"; do sleep 0.1; done
  kill -TERM "$app"
  wait "$request" || fail "The running request was interrupted."
  grep -q 'data: 6' "$scratch/ticks" || fail "The running request did not complete."
  wait "$app" || fail "The application did not stop gracefully."
  grep -q 'warn: FastCgi\|fail:\|crit:' "$scratch/app.log" && fail "The application logged a problem."
  echo "MinimalApi behind nginx: passed"
}

install_packages
download_libraries
publish samples/MinimalApi/MinimalApi.csproj sample
publish tests/FastCgi.AspNetCore.InMemoryTests/FastCgi.AspNetCore.InMemoryTests.csproj tests -p:RunsItself=true -p:UseAppHost=true
echo "Built in $SECONDS s"
run_behind_nginx
(FASTCGI_EXPLORED_SCHEDULES=1000 emulate "$kept/tests/FastCgi.AspNetCore.InMemoryTests") || exit
echo "Tested in $SECONDS s"
