#!/usr/bin/env bash
# Does what systemctl does for the commands of a template's README: starts a service with the user, the folders, the
# environment and the program of its unit. It has no systemd, so the service makes its socket itself.
set -euo pipefail

get() { sed -n "s/^$1=//p" "/etc/systemd/system/$service.service"; }

case "$*" in
  daemon-reload) ;;
  'reload-or-restart nginx') nginx ;;
  'enable --now '*.socket)
    service=$(basename "$3" .socket)
    user=$(get User)
    mapfile -t environment < <(get Environment)
    install -d -o "$user" "/run/$(get RuntimeDirectory)" "/var/lib/$(get StateDirectory)"
    cd "$(get WorkingDirectory)"
    log=/run/$service.log
    setpriv --reuid "$user" --regid "$user" --groups "$(get SupplementaryGroups)" \
      env "${environment[@]}" "$(get ExecStart)" >"$log" 2>&1 &
    until grep -qs 'Application started' "$log"; do
      kill -0 $! || { cat "$log"; exit 1; }
      sleep 0.05
    done
    ;;
  *)
    echo "systemctl $*: unexpected" >&2
    exit 1
    ;;
esac
