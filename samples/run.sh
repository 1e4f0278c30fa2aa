#!/usr/bin/env bash
# Runs a sample behind its web server until Ctrl-C, on http://localhost:8080. Needs no root.
#   samples/run.sh SAMPLE [CONFIGURATION] [--port PORT] [--no-build Debug|Release]
# CONFIGURATION is a file of the sample, such as lighttpd.conf. Sockets and certificates are in /tmp/sample-PORT, which
# is deleted at the end.
set -euo pipefail
cd "$(dirname "$0")"

# In Debian, the PATH of an ordinary user lacks the folder of the web servers.
PATH=$PATH:/usr/sbin
export DOTNET_NOLOGO=1 DOTNET_ROOT=${DOTNET_ROOT:-$(dirname "$(readlink -f "$(command -v dotnet)")")}
sample=
configuration=
port=8080
build=true
built=Release

fail() {
  echo "$1" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --port) port=$2; shift ;;
    --no-build) build=false; built=$2; shift ;;
    *) if [ -z "$sample" ]; then sample=$1; else configuration=$1; fi ;;
  esac
  shift
done
[ -n "$sample" ] && [ -d "$sample" ] || fail "usage: samples/run.sh SAMPLE [CONFIGURATION] [--port PORT]. README.md lists the samples."
[ -n "$configuration" ] || configuration=$(cd "$sample" && ls nginx.conf lighttpd.conf apache.conf 2>/dev/null | head -n 1 || true)
file=$sample/$configuration
[ -f "$file" ] || file=nginx.conf

case $file in
  *lighttpd*) server=lighttpd ;;
  *apache*) server=apache2 ;;
  *) server=nginx ;;
esac
command -v "$server" >/dev/null || fail "$server: command not found. Install it first."

# Spawned starts MinimalApi.
project=${sample/Spawned/MinimalApi}
[ "$(ls "$project"/*.*proj 2>/dev/null)" ] || fail "$sample has no program to run. README.md says what it is for."
program=$PWD/$project/bin/$built/net10.0/$project
run=/tmp/sample-$port
site=$PWD/$sample
if $build; then dotnet build "$project" -c Release -v quiet --nologo || fail "The build failed."; fi
mkdir "$run" || fail "Port $port is used by another sample. Stop it, or delete $run."
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$run"' EXIT
trap 'exit 0' INT TERM

wait_for() {
  until "$@" 2>/dev/null; do
    kill -0 "$last" 2>/dev/null || fail "$sample did not start."
    sleep 0.05
  done
}

start() {
  "$@" &
  last=$!
}

accepts() {
  : <"/dev/tcp/127.0.0.1/$port"
}

# Creates a certificate authority, and certificates for the server and for Ann.
make_certificates() {
  local entry id name usage
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=Sample authority' -keyout "$run/ca.key" -out "$run/ca.pem"
  for entry in server:localhost:serverAuth ann:Ann:clientAuth; do
    IFS=: read -r id name usage <<<"$entry"
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout "$run/$id.key" -out "$run/$id.csr"
    openssl x509 -req -days 2 -in "$run/$id.csr" -CA "$run/ca.pem" -CAkey "$run/ca.key" -CAcreateserial -out "$run/$id.pem" \
      -extfile <(printf 'subjectAltName=DNS:localhost\nextendedKeyUsage=%s\n' "$usage")
  done
}

start_application() {
  local sockets=("$run/app.sock") arguments=(--contentRoot "$site" --urls "fastcgi://unix:$run/app.sock?mode=0666")
  case $sample in
    SignalR | Blazor)
      sockets+=("$run/kestrel.sock")
      arguments+=(--urls "fastcgi://unix:$run/app.sock?mode=0666;http://unix:$run/kestrel.sock")
      ;;
    Files) arguments+=(--Folder "$run/files") ;;
    ClientCertificate) arguments+=(--ClientCA "$run/ca.pem") ;;
    TwoApps)
      sockets=("$run/shop.sock" "$run/blog.sock")
      arguments=(--contentRoot "$site" --Shop:FastCgi:Endpoints:Web:Url "fastcgi://unix:$run/shop.sock?mode=0666")
      arguments+=(--Blog:FastCgi:Endpoints:Web:Url "fastcgi://unix:$run/blog.sock?mode=0666")
      ;;
    Spawned)
      # The web server starts it as a separate user.
      cp -r "$(dirname "$program")" "$run/site"
      site=$run/site
      chmod 1777 "$run"
      return
      ;;
  esac
  # For UseHttpsRedirection.
  export ASPNETCORE_HTTPS_PORT=$port
  start "$program" "${arguments[@]}" --Logging:LogLevel:Microsoft.AspNetCore Warning
  for socket in "${sockets[@]}"; do wait_for test -S "$socket"; done
}

# Replaces the folders of an installation with those of this run.
fill_in() {
  sed -e "s|8080|$port|; s|/run/app|$run|g; s|/etc/ssl/app|$run|; s|/var/lib/app|$run/files|; s|/srv/app|$site|g" \
    -e "s|/usr/share/dotnet|$DOTNET_ROOT|" "$file"
}

start_web_server() {
  local text=$run/$(basename "$file")
  fill_in >"$text"
  case $server in
    nginx)
      cp /etc/nginx/fastcgi_params "$run"
      # The configuration into which an installed nginx includes the files of conf.d.
      cat >"$run/frame.conf" <<END
daemon off;
pid nginx.pid;
error_log stderr;
events {}
$([ "$(id -u)" -ne 0 ] || echo "user root root;")
http {
  access_log off;
  client_body_temp_path body;
  fastcgi_temp_path fastcgi;
  proxy_temp_path proxy;
  scgi_temp_path scgi;
  uwsgi_temp_path uwsgi;
  include $text;
}
END
      start nginx -p "$run" -e stderr -c "$run/frame.conf"
      ;;
    lighttpd) start lighttpd -D -f "$text" ;;
    apache2) start apache2 -d "$run" -f "$text" -D FOREGROUND ;;
  esac
  wait_for accepts
}

if grep -q /etc/ssl/app "$file"; then make_certificates 2>"$run/openssl.log" || fail "$(cat "$run/openssl.log")"; fi
start_application
start_web_server
echo "$sample is at http://localhost:$port until you press Ctrl-C."
wait -n
fail "$sample or its web server has ended."
