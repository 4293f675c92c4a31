#!/usr/bin/env bash
# Runs a command in a clone of what is committed, on a Debian 12 that has nothing but its base system.
#
#   scripts/empty_debian.sh [--with FOLDER] COMMAND...      for instance  scripts/quickstart.sh train.steps=20
#
# FOLDER of this tree, which is not committed, goes along. Needs root and debootstrap. Packages come from where those of
# this machine do. The files lie under $TMPDIR, else /var/tmp, and are gone afterwards.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
with=
if [ "${1:-}" = --with ] && [ $# -gt 1 ]; then
  with=$2
  shift 2
fi
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
stop() {
  printf 'empty_debian: %s\n' "$@" >&2
  exit 3
}
[ "$(id -u)" = 0 ] || stop "only root can make and enter a system of its own. Run it as root."
command -v debootstrap >/dev/null || stop "debootstrap is missing. Install Debian's package of that name."

# What stands in `deb URL suite ...` and in `URIs: URL ...`.
mirror=$(sed -nE 's/^(deb( +\[[^]]*\])?|URIs:) +([a-z]+:[^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources \
  /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 1p || true)

root=$(mktemp -d "${TMPDIR:-/var/tmp}/empty-debian.XXXXXX")
mounted=()
remove() { # first what is mounted there; then, never in another file system, the files
  local folder
  for folder in "${mounted[@]}"; do
    umount -R -l "$folder" || return
  done
  rm -rf --one-file-system "$root"
}
trap remove EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

echo "empty_debian: making $root"
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || {
  tail -5 "$root.log" >&2
  stop "debootstrap failed ($root.log has all of it). Look whether this machine reaches its package mirror."
}
rm -f "$root.log"
# The ways to package registries, and nothing else, come from this machine.
for file in etc/apt/sources.list etc/apt/sources.list.d etc/apt/apt.conf.d usr/share/keyrings etc/resolv.conf etc/hosts \
  etc/pip.conf etc/ssl/certs/ca-certificates.crt; do
  if [ -e "/$file" ]; then
    rm -rf "${root:?}/$file"
    mkdir -p "$root/$(dirname "$file")"
    cp -rL "/$file" "$root/$file"
  fi
done
rm -f "$root"/etc/apt/apt.conf.d/docker-* # they clean what apt has fetched away
for folder in proc sys dev; do
  mkdir -p "$root/$folder"
  mount --rbind "/$folder" "$root/$folder"
  mounted+=("$root/$folder")
  mount --make-rslave "$root/$folder"
done
git clone -q --no-hardlinks . "$root/root/ziggurat"
if [ -n "$with" ]; then
  mkdir -p "$root/root/ziggurat/$with"
  cp -r "$with/." "$root/root/ziggurat/$with"
fi

variables=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
mapfile -t -O ${#variables[@]} variables \
  < <(env | grep -E '^(PIP_[A-Z_]*|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|[a-zA-Z]*_(proxy|PROXY))=')
status=0
chroot "$root" /usr/bin/env -i "${variables[@]}" bash -c 'cd /root/ziggurat && exec "$@"' _ "$@" </dev/null || status=$?
echo "empty_debian: '$*' ended with $status"
exit $status
