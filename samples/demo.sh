#!/usr/bin/env bash
# Runs the MinimalApi sample behind a real web server and shows what a few requests do.
# Needs Debian or Ubuntu with the .NET 10 SDK. Everything it starts runs from a scratch folder on a free port of
# 127.0.0.1, and stops when it ends, also after an error or Ctrl-C. Installed packages and the build in artifacts/demo
# remain.
set -euo pipefail
cd "$(dirname "$0")/.."

export DOTNET_NOLOGO=1 DOTNET_GENERATE_ASPNET_CERTIFICATE=false
# In Debian, the PATH of an ordinary user lacks the folder of nginx and apache2.
PATH=$PATH:/usr/sbin
# The requests to 127.0.0.1 must not go to a proxy.
export no_proxy=${no_proxy:-${NO_PROXY:-}},127.0.0.1

server=nginx
stay=false
scratch=
url=
app_pid=
web_pid=
policy=

main() {
  read_arguments "$@"
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  # Not $TMPDIR: the path of a unix socket must be short, and the web server's user must be able to reach it.
  scratch=$(mktemp -d /tmp/fastcgi-demo.XXXXXX)

  command -v dotnet >/dev/null || fail "The .NET 10 SDK is missing: see https://dot.net/download."
  install_missing
  start_application
  start_web_server
  show_setup
  show_requests

  if $stay; then
    printf '\nThe sample is at %s until you press Ctrl-C.\n' "$url"
    wait -n "$app_pid" "$web_pid" || true
    fail "A server stopped unexpectedly: $(logs)"
  fi
  printf '\nThe sample ran at %s. To keep it running, use --stay.\n' "$url"
}

read_arguments() {
  for argument in "$@"; do
    case $argument in
      --apache) server=apache2 ;;
      --stay) stay=true ;;
      *)
        echo "usage: $0 [--apache] [--stay]"
        echo "  --apache  behind Apache with mod_proxy_fcgi instead of nginx"
        echo "  --stay    keep running until Ctrl-C"
        [[ $argument == --help ]] && exit 0 || exit 2
        ;;
    esac
  done
}

fail() {
  echo "$1" >&2
  exit 1
}

logs() {
  tail -n 20 "$scratch"/*.log
}

clean_up() {
  local status=$?
  # A second Ctrl-C must not interrupt the cleanup.
  trap '' INT TERM HUP
  for pid in $web_pid $app_pid; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  allow_services
  [[ -z $scratch ]] || rm -rf "$scratch"
  exit "$status"
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

install_missing() {
  local packages=()
  # The SDK does not start without ICU, whose package has its version in its name.
  [[ $(dotnet --version 2>&1) != *libicu* ]] || packages+=("'^libicu[0-9]+$'")
  # apache2-bin is Apache without the service that the package apache2 sets up.
  command -v "$server" >/dev/null || packages+=("${server/apache2/apache2-bin}")
  command -v curl >/dev/null || packages+=(curl)
  ((${#packages[@]} > 0)) || return 0

  local wanted="Missing: ${packages[*]}."
  command -v apt-get >/dev/null || fail "$wanted Install it, and run this again."
  ((EUID == 0)) || { command -v sudo && sudo -v; } >/dev/null || fail "$wanted Install it as root with: apt-get install ${packages[*]}"

  echo "$wanted Installing with apt-get, without starting a service."
  forbid_services
  {
    as_root apt-get update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]//\'/}"
  } >"$scratch/apt.log" 2>&1 || fail "$(tail -n 20 "$scratch/apt.log")"
  allow_services
  echo "The installed packages remain. To remove them: apt-get autoremove --purge ${packages[*]}"
  [[ ${packages[*]} != *nginx* ]] || echo "nginx starts at the next boot. To prevent that: systemctl disable nginx"
}

# In Debian, this policy prevents a package from starting its service. An existing policy belongs to the administrator.
forbid_services() {
  [[ ! -e /usr/sbin/policy-rc.d ]] || return 0
  policy=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' >"$scratch/policy"
  as_root install -m 755 "$scratch/policy" "$policy"
}

allow_services() {
  [[ -z $policy ]] || as_root rm -f "$policy"
  policy=
}

start_application() {
  # The SDK's temporary files go into the scratch folder.
  local -x TMPDIR=$scratch
  local build=$PWD/artifacts/demo builder
  { mkdir -p "$build" && [[ -w $build ]]; } 2>/dev/null || build=$scratch/build
  printf 'Building samples/MinimalApi '
  dotnet build samples/MinimalApi -c Release -v q --artifacts-path "$build" --disable-build-servers >"$scratch/build.log" 2>&1 &
  builder=$!
  while kill -0 "$builder" 2>/dev/null; do
    printf .
    sleep 1
  done
  echo
  wait "$builder" || fail "$(cat "$scratch/build.log")"

  local socket=$scratch/app.sock
  (
    cd "$build/bin/MinimalApi/release"
    exec dotnet MinimalApi.dll --urls "fastcgi://unix:$socket"
  ) >"$scratch/app.log" 2>&1 &
  app_pid=$!
  wait_for "$app_pid" test -S "$socket"
}

start_web_server() {
  local port run=()
  port=$(free_port)
  url=http://127.0.0.1:$port
  if ((EUID == 0)); then
    # The web server needs no root: it runs as Debian's user for it, which must own its folder and reach the socket.
    run=(setpriv --reuid=www-data --regid=www-data --clear-groups)
    chown www-data: "$scratch" "$scratch/app.sock"
  fi

  if [[ $server == nginx ]]; then
    nginx_configuration "$port" >"$scratch/web.conf"
    run+=(nginx -p "$scratch" -c "$scratch/web.conf")
  else
    apache_configuration "$port" >"$scratch/web.conf"
    run+=(apache2 -f "$scratch/web.conf" -DFOREGROUND)
  fi

  "${run[@]}" >"$scratch/web.log" 2>&1 &
  web_pid=$!
  wait_for "$web_pid" curl -fs "$url/"
  echo "$server listens on $url and passes requests to the sample on the Unix socket $scratch/app.sock"
}

free_port() {
  local port
  for _ in {1..100}; do
    # Below the ports that the system uses for outgoing connections.
    port=$((20000 + RANDOM % 10000))
    if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
  fail "No free port was found between 20000 and 30000."
}

# Shows the lines to copy: for the application, and for the web server.
show_setup() {
  local socket=/run/hello/app.sock
  printf '\nTo serve your own application, add one line to Program.cs:\n\n  %s\n' "$(grep -m1 -o 'builder.*UseFastCgi();' samples/MinimalApi/Program.cs)"
  printf '\nstart it as root, in its own folder:\n\n  install -d %s\n' "${socket%/*}"
  printf "  dotnet hello.dll --urls 'fastcgi://unix:%s?mode=0660&group=www-data'\n" "$socket"
  if [[ $server == nginx ]]; then
    printf '\nand add this to the server block of nginx:\n\n'
  else
    printf '\nrun a2enmod proxy_fcgi, and add this to the virtual host of Apache:\n\n'
  fi
  sed -n '/^ *location/,/^ *}/p; /^<Location/,$p' "$scratch/web.conf" |
    sed "s|$scratch/app.sock|$socket|; s|/etc/nginx/||"
}

# Waits until a command succeeds; gives up if the process dies first.
wait_for() {
  local pid=$1
  shift
  for _ in {1..100}; do
    if "$@" >/dev/null 2>&1; then return; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  fail "The sample or web server did not start: $(logs)"
}

nginx_configuration() {
  cat <<END
daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {}

http {
  access_log off;
  client_body_temp_path body;
  fastcgi_temp_path fastcgi;
  proxy_temp_path proxy;
  scgi_temp_path scgi;
  uwsgi_temp_path uwsgi;
  client_max_body_size 30m;

  server {
    listen 127.0.0.1:$1;

    location / {
      include /etc/nginx/fastcgi_params;
      fastcgi_param HTTP_HOST \$host:\$server_port;  # Debian's fastcgi_params leave the port out.
      fastcgi_read_timeout 120s;
      fastcgi_pass unix:$scratch/app.sock;
    }
  }
}
END
}

apache_configuration() {
  cat <<END
ServerRoot $scratch
DefaultRuntimeDir $scratch
PidFile apache.pid
ErrorLog error.log
ServerName localhost
Listen 127.0.0.1:$1

LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_fcgi_module /usr/lib/apache2/modules/mod_proxy_fcgi.so

<Location "/">
    CGIPassAuth On
</Location>
ProxyPass "/" "unix:$scratch/app.sock|fcgi://hello/" flushpackets=on timeout=120
END
}

show_requests() {
  head -c 20000000 /dev/urandom >"$scratch/upload.bin"

  show "curl -fsS -w '\ncurl spoke from %{local_ip} port %{local_port}\n' '$url/whoami?x=1'" \
    "Scheme, host, client address and port are those of the client's connection, without any setup."
  show "curl -fsS -w '\n' -H 'X-Forwarded-For: 6.6.6.6' -H 'X-Forwarded-Proto: https' -H 'Https: on' $url/whoami" \
    "Forged headers change nothing."
  show "curl -fsS -w '\n' -H 'Content-Type: application/json' -d '{\"item\":\"tea\",\"quantity\":3,\"price\":2.5}' $url/orders" \
    "The application reads and writes JSON."
  show "curl -fsS -w '\n' --data-binary @$scratch/upload.bin $url/upload; sha256sum $scratch/upload.bin" \
    "20 MB arrive unchanged: the same SHA-256 on both sides."
  show "curl -fsS $url/download/50000000 | wc -c" \
    "50 MB are streamed back."
  show "curl -fsSN '$url/ticks?count=4'" \
    "Server-sent events arrive one by one, not together at the end (times on the left)." stamp
}

# Prints a command, its response, and an explanation.
show() {
  local command=$1 meaning=$2 filter=${3:-cat}
  printf '\n$ %s\n' "$command"
  bash -o pipefail -c "$command" | "$filter"
  printf '=> %s\n' "$meaning"
}

# Puts the time before every line that is not empty.
stamp() {
  local start=${EPOCHREALTIME/[.,]/} line
  while IFS= read -r line; do
    [[ -z $line ]] || printf '%5d ms  %s\n' $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) "$line"
  done
}

main "$@"
