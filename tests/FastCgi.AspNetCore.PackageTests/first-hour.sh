#!/usr/bin/env bash
# Runs the example in docs/migration.md unchanged, for each template, behind each web server. Mounts hide the system
# folders that it writes to.
#   first-hour.sh FOLDER TEMPLATE=PATH=TEXT …
# FOLDER has the blocks of the page as files, and a clone of the repository.
set -euo pipefail
folder=$1
script=$0

publish() {
  sed "s/dotnet new mvc/dotnet new $1/" "$folder/first application" >"$folder/publish"
  bash -e "$folder/publish" >"$folder/publish.log" 2>&1 || { cat "$folder/publish.log"; exit 1; }
  mv /srv/hello "/srv/$1"
  rm -rf ../hello-mvc
}

serve() {
  local template=$1 path=$2 text=$3 server application old
  mv "/srv/$template" /srv/hello
  : >"$folder/application.log"
  HOME=$folder bash -c "$(<"$folder/first socket") echo \$! >'$folder/pid'; wait" >"$folder/application.log" 2>&1 &
  application=$!
  for server in nginx apache; do
    # As if pasted at once: neither the application nor the web server is ready, and an old page may answer.
    "start_$server"
    sed "s|/Home/Privacy|$path|" "$folder/first request" >"$folder/request"
    bash -e "$folder/request" || { cat "$folder/application.log"; exit 1; }
    if [ $server = nginx ]; then while kill -0 "${old% }" 2>/dev/null; do sleep 0.05; done; fi
    for scheme in http https; do
      curl -fsSkL -o "$folder/answer" -w "$template $server $scheme: %{http_code} %{url_effective}\n" "$scheme://localhost$path"
      grep -q "$text" "$folder/answer"
      # A browser gets at most one content coding.
      curl -fsSkL -o /dev/null -D "$folder/headers" -H 'Accept-Encoding: gzip' "$scheme://localhost$path"
      [ "$(grep -ci '^content-encoding:' "$folder/headers")" -le 1 ] || { cat "$folder/headers"; exit 1; }
    done
    if [ $server = nginx ]; then nginx -s quit; else apache2ctl stop; fi
    while curl -s -o /dev/null http://localhost/; do sleep 0.05; done
  done
  kill "$(<"$folder/pid")"
  wait $application
  grep -A1 -E '^(warn|fail|crit): FastCgi' "$folder/application.log" || true
  rm -rf /srv/hello
}

# A reload returns before the process with the previous configuration has ended.
start_nginx() {
  local master
  nginx
  until [ -s /run/nginx.pid ]; do sleep 0.05; done
  master=$(</run/nginx.pid)
  until old=$(<"/proc/$master/task/$master/children") && [ -n "$old" ]; do sleep 0.05; done
  bash -e "$folder/first nginx"
}

start_apache() {
  bash -e "$folder/first apache"
}

if [ "${2:-}" != serve ]; then
  for path in /run /srv /var/log /var/lib/nginx; do mount -t tmpfs tmpfs $path; done
  mkdir /var/log/nginx /var/log/apache2 /run/lock
  for path in /etc/nginx /etc/apache2 /etc/ssl; do
    cp -r $path "$folder"
    mount --bind "$folder/${path#/etc/}" $path
  done
  rm -f /etc/nginx/conf.d/*
  sed -i 's/^worker_processes.*/worker_processes 1;/' /etc/nginx/nginx.conf
  cd "$folder/clone"
  for row in "${@:2}"; do publish "${row%%=*}"; done
  exec unshare --net "$script" "$folder" serve "${@:2}"
fi

ip link set lo up
bash -e "$folder/first certificate" 2>/dev/null
for row in "${@:3}"; do
  IFS='=' read -r template path text <<<"$row"
  serve "$template" "$path" "$text"
done
# The first requests came before the application.
grep -hv 'connect() to unix:/run/hello/app.sock failed' /var/log/nginx/error.log /var/log/apache2/error.log || true
