#!/usr/bin/env bash
# Requests each external link in the documents, and reports broken ones. Links within the repository are
# checked by DocumentTests.
#   build/links.sh [FILE]
# FILE has one link per line; the default is the list that DocumentTests compares with the documents.
set -uo pipefail
cd "$(dirname "$0")/.."
file=${1:-tests/FastCgi.AspNetCore.UnitTests/ExternalLinks.txt}
broken=0
unclear=0

while read -r link; do
  status=$(curl --silent --location --max-time 30 --retry 2 --output /dev/null --write-out '%{http_code}' --user-agent 'Mozilla/5.0 (link check)' "$link")
  case $status in
    2??) ;;
    # The site refuses scripts, or has a temporary failure.
    401 | 403 | 429 | 5??)
      echo "unclear ($status): $link"
      unclear=$((unclear + 1))
      ;;
    *)
      echo "broken ($status): $link"
      broken=$((broken + 1))
      ;;
  esac
done <"$file"

echo "$(wc -l <"$file") links, $broken broken, $unclear unclear"
[ "$broken" -eq 0 ]
