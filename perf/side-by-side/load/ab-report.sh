# Runs ab and reports like the other load generators: ab-report.sh CONNECTIONS SECONDS URL
ab -q -k -s 20 -c "$1" -t "$2" -n 2000000 "$3" | awk '
  /^Complete requests:/ { complete = $3 }
  /^Failed requests:/ { failed = $3 }
  /^Non-2xx responses:/ { failed += $3 }
  /^Time taken for tests:/ { seconds = $5 }
  $1 == "50%" { p50 = $2 }
  $1 == "99%" { p99 = $2 }
  $1 == "100%" { longest = $2 }
  END { printf "report %d %d %d %d %d %d %d\n", complete, seconds * 1e6, p50 * 1e3, p99 * 1e3, failed, p99 * 1e3, longest * 1e3 }'
