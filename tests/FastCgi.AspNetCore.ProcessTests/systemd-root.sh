#!/usr/bin/env bash
# Runs systemd as process 1 of a container: this machine's files with a temporary overlay for changes, its own
# processes, network and control groups. Needs root, and a kernel that allows it.
#   systemd-root.sh check FOLDER             exits with 0 if this machine allows it
#   systemd-root.sh start FOLDER REPOSITORY  runs it; it has started when FOLDER/pid exists
#   systemd-root.sh run FOLDER …             runs a command in it, in the current folder
#   systemd-root.sh stop FOLDER              stops it
set -euo pipefail
action=$1 folder=$2

# Mounts a copy-on-write view of a folder of this machine.
mount_copy() {
  local name=$1 original=$2 place=$3
  mkdir -p "$folder/disk/$name/upper" "$folder/disk/$name/work"
  mount -t overlay -o "lowerdir=$original,upperdir=$folder/disk/$name/upper,workdir=$folder/disk/$name/work" overlay "$place"
}

# Prints the mount point of control groups version 2.
get_groups() {
  awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

# The group's processes end a moment after process 1.
remove_group() {
  local attempt
  for attempt in {1..30}; do
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    if [ ! -e "$group" ]; then break; fi
    sleep 0.1
  done
}

mount_root() {
  local repository=$1 device
  mount -t tmpfs tmpfs "$folder/disk"
  mount_copy root / "$folder/root"
  cd "$folder/root"
  mount -t tmpfs tmpfs tmp
  mount -t proc proc proc
  mount -t tmpfs -o mode=755 tmpfs run
  mount -t tmpfs -o mode=755 tmpfs dev
  for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  ln -s /proc/self/fd dev/fd
  ln -s pts/ptmx dev/ptmx
  mkdir dev/shm dev/pts
  mount -t tmpfs tmpfs dev/shm
  mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
  mount -t sysfs sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  # Mounted last, because it may be in one of these folders.
  mkdir -p ".$repository"
  mount_copy repository "$repository" ".$repository"
  # Services look for the runtime here.
  mkdir -p usr/share/dotnet
  mount_copy sdk "$(dirname "$(readlink -f "$(command -v dotnet)")")" usr/share/dotnet
  mount -o remount,ro,bind sys
}

case $action in
check)
  mkdir -p "$folder/disk" "$folder/root"
  [ -x /lib/systemd/systemd ] && [ -w "$(get_groups)" ]
  export -f mount_root mount_copy
  export folder
  unshare --mount --propagation private --pid --fork --kill-child --uts --ipc --net --cgroup bash -ec 'mount_root "$PWD"'
  ;;
start)
  group=$(get_groups)/systemd-root-$$
  mkdir "$group"
  mkdir -p "$folder/disk" "$folder/root"
  # Everything that starts from here on is in the group, and sees nothing above it.
  bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" \
    unshare --mount --propagation private --pid --fork --kill-child --uts --ipc --net --cgroup bash "$0" inside "$folder" "$3" &
  unshare=$!
  trap 'kill -KILL $unshare 2>/dev/null || true; wait $unshare || true; remove_group' EXIT
  trap 'exit 1' TERM
  init=
  until [ -n "$init" ] && [ -S "/proc/$init/root/run/systemd/private" ]; do
    kill -0 $unshare
    sleep 0.1
    init=$(tr -d ' ' <"/proc/$unshare/task/$unshare/children")
  done
  echo "$init" >"$folder/pid.new"
  mv "$folder/pid.new" "$folder/pid"
  wait $unshare
  ;;
inside)
  mount_root "$3"
  ip link set lo up
  mkdir -p .outside
  pivot_root . .outside
  umount -l /.outside
  exec env -i container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=false </dev/null
  ;;
run)
  current=$PWD
  shift 2
  exec nsenter --target "$(cat "$folder/pid")" --mount --pid --uts --ipc --net --cgroup -- env --chdir="$current" "$@"
  ;;
stop)
  kill -KILL "$(cat "$folder/pid")"
  ;;
esac
