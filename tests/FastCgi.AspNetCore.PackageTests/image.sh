#!/usr/bin/env bash
# Runs the steps of a Dockerfile without an image builder, on a copy-on-write view of this machine, which stands for the
# Debian base image.
#   image.sh DOCKERFILE CONTEXT VOLUME FOLDER
# CONTEXT is the folder to copy, VOLUME the folder to mount as its volume, and FOLDER an empty working folder. Needs
# root, and a mount namespace.
set -euo pipefail
dockerfile=$1 context=$2 volume=$3 folder=$4
root=$folder/root
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"

user=0:0 workdir=/ command=() environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin)
# Splits ["a", "b"] into words.
words() { tr -d '[],' <<<"$1" | xargs -n 1; }
while read -r instruction rest; do
  case $instruction in
    '' | '#'* | FROM) ;;
    ENV) environment+=("$rest") ;;
    RUN) env -i "${environment[@]}" chroot "$root" sh -c "$rest" ;;
    COPY) mkdir -p "$root${rest##* }" && cp -r "$context/${rest%% *}/." "$root${rest##* }" ;;
    USER) user=$rest ;;
    WORKDIR) workdir=$rest ;;
    VOLUME)
      # A new volume gets the owner and mode of the image's folder.
      chown --reference="$root$rest" "$volume"
      chmod --reference="$root$rest" "$volume"
      mount --bind "$volume" "$root$rest" ;;
    ENTRYPOINT | CMD) mapfile -t -O ${#command[@]} command < <(words "$rest") ;;
    *) echo "Unknown instruction: $instruction." && exit 1 ;;
  esac
done <"$dockerfile"
exec env -i "${environment[@]}" chroot --userspec="$user" "$root" sh -c 'cd "$1" && shift && exec "$@"' sh "$workdir" "${command[@]}"
