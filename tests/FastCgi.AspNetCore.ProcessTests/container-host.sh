#!/usr/bin/env bash
# Runs commands on a host for containers: this machine's files with a temporary copy-on-write view of the repository,
# its own processes and network, and images made of this machine's programs. Needs root, podman, and runc.
#   container-host.sh check FOLDER                     fails with the reason if this machine does not allow it
#   container-host.sh run FOLDER REPOSITORY COMMANDS   runs the commands in the repository
set -euo pipefail
action=$1 folder=$2

# podman neither sees what is running on this machine, nor leaves anything behind.
mount_disk() {
  local place
  mkdir "$folder/disk"
  for place in "$folder/disk" /run /dev/shm; do mount -t tmpfs tmpfs "$place"; done
  mkdir "$folder/disk"/{upper,work,tmp}
  export TMPDIR=$folder/disk/tmp
  ip link set lo up
}

# This host may have no bridge and no systemd, and may itself be limited.
write_settings() {
  export CONTAINERS_CONF=$folder/containers.conf CONTAINERS_STORAGE_CONF=$folder/storage.conf
  export PODMAN_IGNORE_CGROUPSV1_WARNING=true
  printf '%s\n' '[containers]' 'netns = "host"' 'default_ulimits = ["nofile=1024:4096", "nproc=1024:4096"]' \
    '[engine]' 'runtime = "runc"' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' >"$CONTAINERS_CONF"
  printf '%s\n' '[storage]' 'driver = "overlay"' "graphroot = \"$folder/disk/store\"" 'runroot = "/run/store"' \
    >"$CONTAINERS_STORAGE_CONF"
}

# Prints programs and libraries, and those that they are linked to.
list_files() {
  printf '%s\n' "$@"
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*[^:]$/ { print $1 }'
}

# Makes an image of the files on standard input, and of a user.
#   make_image IMAGE USER ID CHANGE...
make_image() {
  local image=$1 user=$2 id=$3 etc=$folder/image-$2 change changes=()
  for change in "${@:4}"; do changes+=(--change "$change"); done
  mkdir -p "$etc"/{etc,home/app}
  mkdir --mode=1777 "$etc/tmp"
  printf '%s:x:%s:%s::/home/app:/bin/false\n' root 0 0 "$user" "$id" "$id" >"$etc/etc/passwd"
  printf '%s:x:%s:\n' root 0 "$user" "$id" >"$etc/etc/group"
  sort -u | sed 's|^/||' | tar -c --dereference "--transform=s|^${sdk#/}|usr/share/dotnet|" -C "$etc" . -C / -T - |
    podman import --quiet --change "USER $id" "${changes[@]}" - "$image" >/dev/null
}

# What the images of these names have, as far as the page uses it.
make_images() {
  local libraries
  mapfile -t libraries < <(find "$sdk/shared" "$sdk/host" -name '*.so')
  libraries+=("$(ldconfig -p | awk '/libssl\.so/ { print $NF; exit }')")
  { find "$sdk/shared" "$sdk/host" -type f; list_files "$sdk/dotnet" "${libraries[@]}"; } |
    make_image mcr.microsoft.com/dotnet/aspnet:10.0-noble-chiseled app 1654 'ENV APP_UID=1654' \
      'ENV ASPNETCORE_HTTP_PORTS=8080' 'ENV DOTNET_RUNNING_IN_CONTAINER=true' \
      'ENV DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=true' 'ENV PATH=/usr/share/dotnet'

  mkdir -p "$folder/image-nginx/etc/nginx/conf.d"
  printf '%s\n' 'pid /tmp/nginx.pid; error_log /dev/stderr notice; events { } http { access_log off;' \
    "$(printf '%s_temp_path /tmp/%s_temp; ' client_body{,} proxy{,} fastcgi{,} uwsgi{,} scgi{,})" \
    'include /etc/nginx/mime.types; include /etc/nginx/conf.d/*.conf; }' >"$folder/image-nginx/etc/nginx/nginx.conf"
  { ls /etc/nginx/{fastcgi_params,mime.types}; list_files "$(command -v nginx)" /usr/bin/curl /bin/sh; } |
    make_image docker.io/nginxinc/nginx-unprivileged:stable nginx 101 'STOPSIGNAL SIGQUIT' \
      'CMD ["nginx", "-e", "/dev/stderr", "-g", "daemon off;"]'
}

case $action in
check | run)
  exec unshare --mount --propagation private --net --pid --fork --kill-child --mount-proc \
    bash "$0" "inside-$action" "${@:2}"
  ;;
esac

sdk=$(dirname "$(readlink -f "$(command -v dotnet)")")
mount_disk
write_settings
trap 'podman rm --all --force --time 0 >/dev/null' EXIT
if [ "$action" = inside-check ]; then
  list_files /bin/true | make_image check app 1654
  podman run --rm check true
else
  mount -t overlay -o "lowerdir=$3,upperdir=$folder/disk/upper,workdir=$folder/disk/work" overlay "$3"
  make_images
  cd "$3"
  # Build servers would outlive the build. The rest only shortens it.
  MSBUILDDISABLENODEREUSE=1 UseSharedCompilation=false RunAnalyzers=false bash -euc "$4" 2>&1
fi
