#!/bin/sh
# Starts Apache in the current folder, on a machine with a user ada, whose home is home/ada. The accounts and the log of
# suexec are mounts that only this process sees.
set -e
for file in passwd group; do cp /etc/$file .; done
echo "ada:x:$1:$1::$PWD/home/ada:/bin/sh" >>passwd
echo "ada:x:$1:" >>group
for file in passwd group; do mount --bind $file /etc/$file; done
mount -t tmpfs -o mode=755 tmpfs /var/log
mkdir /var/log/apache2
# Debian may have chosen another suexec.
mount --bind /usr/lib/apache2/suexec-pristine /usr/lib/apache2/suexec
chown -R "$1:$1" home/ada
exec apache2 -d . -f shared-host.conf -D FOREGROUND
