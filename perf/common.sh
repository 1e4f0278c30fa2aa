# Functions for the run.sh scripts, which source this file after setting $repository to the folder of the repository.
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_GENERATE_ASPNET_CERTIFICATE=false DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin

# All files are in a scratch folder that is deleted at the end. With perf/run.sh, the scripts share its folder and
# their builds.
scratch=${PERF_SCRATCH:-$(mktemp -d)}
remove_scratch() {
  [ -n "${PERF_SCRATCH:-}" ] || rm -rf "$scratch"
}

# For scripts with a database.
clean_up() {
  [ -z "${SIDE_BY_SIDE_DATABASE:-}" ] || in_database_folder pg_ctl --mode=immediate -s stop || true
  remove_scratch
}

# Installs missing packages. Each argument is a program or file, and the Debian package that contains it.
install_missing() {
  local pair packages=()
  for pair in "$@"; do
    compgen -c | grep -qx -- "${pair%%:*}" || compgen -G "/usr/sbin/${pair%%:*}" >/dev/null || [ -e "${pair%%:*}" ] || packages+=("${pair##*:}")
  done
  [ ${#packages[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then echo "Install these Debian packages, or run this as root: ${packages[*]}" >&2; exit 1; fi
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

# In Debian, these programs are not in the PATH.
add_database_programs() {
  local folder
  for folder in /usr/lib/postgresql/*/bin; do
    [ ! -d "$folder" ] || PATH=$PATH:$folder
  done
}

# PostgreSQL refuses to run as root.
in_database_folder() {
  if [ "$(id -u)" -eq 0 ]; then runuser -u nobody -- env PATH="$PATH" PGDATA="$scratch/database/data" "$@"; else PGDATA="$scratch/database/data" "$@"; fi
}

start_database() {
  rm -rf "$scratch/database"
  mkdir "$scratch/database"
  chmod 711 "$scratch"
  [ "$(id -u)" -ne 0 ] || chown nobody "$scratch/database"
  in_database_folder initdb --username=site --auth=trust --no-sync >/dev/null
  export SIDE_BY_SIDE_DATABASE="Host=$scratch/database;Username=site;Database=postgres;Maximum Pool Size=32"
  in_database_folder pg_ctl -s -w -l "$scratch/database/log" -o "-c listen_addresses= -c unix_socket_directories=$scratch/database -c fsync=off -c max_connections=500" start
}

query_database() {
  in_database_folder psql -q -h "$scratch/database" -U site postgres "$@"
}

# The rows of the pages that read articles.
create_articles() {
  query_database -c "CREATE TABLE article (id int PRIMARY KEY, title text NOT NULL)" \
    -c "INSERT INTO article SELECT i, 'The title of an article of a blog, number ' || i FROM generate_series(1, 50) i"
}

# Shows a command's output only if it fails.
quietly() {
  "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

# Builds the load generators, the floor, and the driver.
build_tools() {
  [ ! -e "$scratch/driver" ] || return 0
  mkdir -p "$scratch/tools"
  gcc -O2 -o "$scratch/tools/fcgiload" "$repository/perf/side-by-side/load/fcgiload.c"
  gcc -O2 -o "$scratch/tools/httppace" "$repository/perf/side-by-side/load/httppace.c"
  gcc -O2 -o "$scratch/tools/floor" "$repository/perf/side-by-side/peers/floor.c"
  cp "$repository/perf/side-by-side/load/"{wrk-report.lua,ab-report.sh} "$scratch/tools"
  quietly dotnet build "$repository/perf/side-by-side/Driver" -c Release -o "$scratch/driver" --artifacts-path "$scratch/artifacts"
}

# Builds the package into a folder that serves as a feed. Sites restore only from it, into their own package folder, and
# so run the package's assembly, which is compiled ahead of time.
make_package() {
  [ ! -e "$scratch/feed" ] || return 0
  quietly dotnet pack "$repository/src/FastCgi.AspNetCore" -c Release -o "$scratch/feed" -p:Version=0.0.1-perf --artifacts-path "$scratch/artifacts"
  mkdir -p "$scratch/projects" "$scratch/sites"
  cat >"$scratch/projects/nuget.config" <<END
<configuration>
  <packageSources><clear /><add key="feed" value="$scratch/feed" /></packageSources>
  <config><add key="globalPackagesFolder" value="$scratch/packages" /></config>
</configuration>
END
}

# Publishes the project of this name with the package.
publish_with_package() {
  sed -i 's|^</Project>|<ItemGroup><PackageReference Include="FastCgi.AspNetCore" Version="0.0.1-perf" /></ItemGroup></Project>|' "$scratch/projects/$1/$1.csproj"
  quietly dotnet publish "$scratch/projects/$1" -c Release -o "$scratch/sites/$1"
  [ -e "$scratch/sites/$1/runtimes" ] || [ "$(uname -m)" != x86_64 ] || { echo "$1 has no compiled assembly of the package." >&2; exit 1; }
}

publish_minimal() {
  [ ! -e "$scratch/sites/minimal" ] || return 0
  cp -r "$repository/perf/startup/minimal" "$scratch/projects/minimal"
  rm -rf "$scratch/projects/minimal/bin" "$scratch/projects/minimal/obj"
  publish_with_package minimal
}

# The output of the template plus the one line, with a condition so that the same program also runs on Kestrel.
publish_template() {
  [ ! -e "$scratch/sites/$1" ] || return 0
  quietly dotnet new "$@" --no-restore -o "$scratch/projects/$1"
  sed -i '/CreateBuilder(args)/a if (builder.Configuration["server"] == "fastcgi") builder.WebHost.UseFastCgi();' "$scratch/projects/$1/Program.cs"
  publish_with_package "$1"
}

describe_machine() {
  local model
  model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  echo "$(nproc) cores of ${model:-unknown}, Linux $(uname -r), .NET $(dotnet --version), nginx $(nginx -v 2>&1 | sed 's/.*\///'), commit $(git -C "$repository" rev-parse --short HEAD 2>/dev/null || echo unknown)"
}

run_driver() {
  local images=()
  ! has_option --pictures "$@" || images=(--images "$repository/perf/images")
  dotnet "$scratch/driver/SideBySide.Driver.dll" --tools "$scratch/tools" --packaged-sites "$scratch/sites" --machine "$(describe_machine)" "${images[@]}" "$@"
}

# The value after the option of this name.
option() {
  local name=$1
  while shift; [ $# -gt 1 ]; do
    [ "$1" != "$name" ] || echo "$2"
  done
}

# Whether the first argument is among the others.
has_option() {
  [[ " ${*:2} " == *" $1 "* ]]
}
