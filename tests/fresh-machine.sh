#!/usr/bin/env bash
# Runs samples/demo.sh and tests/run.sh on a new, minimal Debian. Needs root and debootstrap.
#   tests/fresh-machine.sh [PLACE]...
# Clones the last commit into each PLACE of the same machine; the first run installs the packages. A PLACE in /home/NAME
# belongs to the ordinary user NAME, who runs the commands there. Prints the last line of each run. Fails if a command
# fails or leaves files in /tmp.
# Environment:
#   COMMANDS   the commands to run in each clone (default: ./samples/demo.sh && ./tests/run.sh)
#   MACHINE    a folder for the machine, which is kept and reused (default: a temporary folder)
#   RELEASE    bookworm, trixie, or sid (default: the release of this machine); trixie has Caddy from its backports
#   SDK        the folder of the .NET SDK (default: the folder of dotnet)
# The mirror, the NuGet configuration, and the certificate authorities are those of this machine. A run of the tests
# takes about ten minutes on two processors. COMMANDS='tests/nightly.sh --web-servers' runs those that depend on the
# release.
set -euo pipefail

commands=${COMMANDS:-./samples/demo.sh && ./tests/run.sh}
repository=$(cd "$(dirname "$0")/.." && pwd)
places=("$@")
if [ $# -eq 0 ]; then
  deep=$(printf 'deep/%.0s' {1..20})
  places=(/root/FastCgi.AspNetCore /srv/FastCgi.AspNetCore "/home/alice/my ${deep}FastCgi.AspNetCore")
fi

# Runs in the machine.
prepare() {
  apt-get update
  apt-get install --yes --no-install-recommends ca-certificates git
  update-ca-certificates
  git config --system --add safe.directory '*'
}

# The runtime keeps its named mutexes in .dotnet.
list_temporary_files() {
  find /tmp -mindepth 1 -maxdepth 1 -not -name .dotnet | sort
}

# Runs in the machine.
use() {
  local place=$1 user=root home=/root status=0 run=()
  if [[ $place == /home/* ]]; then
    user=$(cut -d / -f 3 <<<"$place")
    home=/home/$user
    id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"
    mkdir -p "$home/.nuget"
    cp -rT /root/.nuget/NuGet "$home/.nuget/NuGet"
    chown -R "$user:" "$home"
    run=(setpriv --reuid="$user" --regid="$user" --init-groups)
  fi
  mkdir -p "$(dirname "$place")"
  git clone --quiet /mnt/repository "$place"
  if [ "$user" != root ]; then chown -R "$user:" "$home"; fi
  list_temporary_files >/mnt/before
  cd "$place"
  "${run[@]}" env HOME="$home" USER="$user" bash -c "$commands" </dev/null >/mnt/log 2>&1 || status=$?
  cd /
  rm -rf "$place"
  printf '%s: ' "$place"
  if [ "$status" -ne 0 ]; then
    echo "exit code $status"
    cat /mnt/log
  fi
  tail -n 1 /mnt/log
  if ! list_temporary_files | comm -13 /mnt/before - | grep .; then return "$status"; fi
  echo "These files remain in /tmp."
  return 1
}

# Enters the machine, which has its own files, processes, and mounts. The network is shared.
enter() {
  local root=$1
  cd "$root"
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount -t tmpfs -o mode=755 tmpfs run
  mkdir --mode=1777 run/lock
  mount -t tmpfs -o mode=755 tmpfs dev
  cp -a /dev/{null,zero,full,random,urandom,tty} dev
  ln -s /proc/self/fd dev/fd
  ln -s fd/0 dev/stdin
  ln -s fd/1 dev/stdout
  ln -s fd/2 dev/stderr
  ln -s pts/ptmx dev/ptmx
  mkdir dev/shm dev/pts
  mount -t tmpfs -o mode=1777 tmpfs dev/shm
  mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
  mkdir -p mnt/repository .outside
  mount --bind "$repository" mnt/repository
  pivot_root . .outside
  umount -l /.outside
  rmdir /.outside
}

if [ "${1:-}" = inside ]; then
  enter "$2"
  prepare >/mnt/log 2>&1 || { cat /mnt/log; exit 1; }
  failed=0
  for place in "${@:3}"; do use "$place" || failed=1; done
  exit "$failed"
fi

set_release() {
  local apt=$machine/etc/apt
  rm -f "$apt"/sources.list.d/*
  echo "deb $2 $1 main" >"$apt/sources.list"
  if [ "$1" = trixie ]; then
    echo "deb $2 trixie-backports main" >>"$apt/sources.list"
    printf 'Package: caddy\nPin: release n=trixie-backports\nPin-Priority: 990\n' >"$apt/preferences.d/caddy"
  fi
}

make_machine() {
  local sdk=${SDK:-$(dirname "$(readlink -f "$(command -v dotnet)")")} suite mirror release
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  release=${RELEASE:-$suite}
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" "Identifier: Packages" | head -n 1)
  debootstrap --keyring=/usr/share/keyrings/debian-archive-keyring.gpg --variant=minbase "$release" "$machine" "$mirror"
  rm -f "$machine/etc/apt/sources.list"
  for folder in /etc/apt /usr/share/keyrings /usr/local/share/ca-certificates /root/.nuget/NuGet; do
    mkdir -p "$machine$folder"
    if [ -d "$folder" ]; then cp -rT "$folder" "$machine$folder"; fi
  done
  if [ "$release" != "$suite" ]; then set_release "$release" "$mirror"; fi
  cp /etc/resolv.conf "$machine/etc"
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$machine/etc/hosts"
  cp -rT "$sdk" "$machine/usr/share/dotnet"
  ln -s ../share/dotnet/dotnet "$machine/usr/bin/dotnet"
}

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "This needs root and the Debian package debootstrap."
  exit 1
fi
machine=${MACHINE:-$(mktemp -d)}
if [ -z "${MACHINE:-}" ]; then trap 'rm -rf "$machine"' EXIT; fi
if [ ! -L "$machine/usr/bin/dotnet" ]; then
  mkdir -p "$machine"
  chmod 755 "$machine"
  make_machine >"$machine/log" 2>&1 || { cat "$machine/log"; exit 1; }
fi
settings=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root COMMANDS="$commands")
mapfile -t -O "${#settings[@]}" settings < <(env | grep -iE '^(NUGET_|[a-z]+_proxy=)' || true)
env -i "${settings[@]}" unshare --mount --propagation private --pid --fork --kill-child \
  bash "$0" inside "$machine" "${places[@]}"
