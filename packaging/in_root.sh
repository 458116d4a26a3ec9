#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command in a bare system of a Debian release, to see that the project builds and passes where nothing is
# installed yet:
#
#   packaging/in_root.sh [--keep] [--with FOLDER]… RELEASE COMMAND [ARGUMENT…]
#   packaging/in_root.sh trixie packaging/test.sh
#
# RELEASE is a name of Debian's (bookworm, trixie, testing). Only root can make a system.
#
# The working tree is /fourwalls there, and the command's working folder; its build/ is build/roots/RELEASE here. The
# bare system (made once by mmdebstrap or debootstrap) and the packages downloaded into it are kept in
# $FOURWALLS_ROOTS (default ~/.cache/fourwalls/roots). What the command changes in the system is thrown away after it,
# with --keep only when the next call comes without. --with shows a folder of this system there, to be read only. A
# folder in CCACHE_DIR serves there, too.
set -euo pipefail
usage() { echo "usage: packaging/in_root.sh [--keep] [--with FOLDER]… RELEASE COMMAND [ARGUMENT…]" >&2; exit 2; }
fail() { echo "in_root.sh: $1" >&2; exit 1; }

keep=no
shown=""
while true; do
    case ${1:-} in
    --keep) keep=yes; shift ;;
    --with) [ -d "${2:-}" ] || fail "--with: no folder ${2:-}"; shown+="$(realpath -s "$2")"$'\n'; shift 2 ;;
    *) break ;;
    esac
done
[ $# -ge 2 ] || usage
release=$1
shift
[[ $release =~ ^[a-z]+$ ]] || usage
[ "$(id -u)" -eq 0 ] || fail "only root can make a system's root; run it as root"

tree=$(realpath "$(dirname "$0")/..")
roots=${FOURWALLS_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/fourwalls/roots}
base=$roots/$release
mkdir -p "$roots" "$roots/$release.archives/partial" "$tree/build/roots/$release"

# The archive is reached as this system reaches it: its mirror and what its apt was told about getting files.
make_base() {
    local mirror new=$base.new outer=$base.apt
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null | head -n 1)
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check|Retries|IndexTargets)' >"$outer" || true
    rm -rf "$new"
    echo "== Making a bare $release system in $base"
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --quiet --mode=root --variant=apt --include=ca-certificates --aptopt="$outer" "$release" "$new" ${mirror:+"$mirror"}
    elif command -v debootstrap >/dev/null; then
        debootstrap --variant=minbase --include=ca-certificates "$release" "$new" ${mirror:+"$mirror"} >/dev/null
        cp "$outer" "$new/etc/apt/apt.conf.d/90outer"
    else
        fail "neither mmdebstrap nor debootstrap is here: apt-get install mmdebstrap"
    fi
    mkdir -p "$new/fourwalls"
    mv "$new" "$base"
}
exec 9>"$roots/$release.lock"
flock 9
[ -d "$base" ] || make_base

# A layer over the bare system takes what the command writes. One kept layer per release; else one per call.
layer=$roots/$release.kept
if [ $keep = no ]; then
    rm -rf "$layer"
    layer=$(mktemp -d "$roots/$release.XXXXXX")
    trap 'rm -rf "$layer"' EXIT
fi
mkdir -p "$layer/upper" "$layer/work" "$layer/root"
[ $keep = yes ] || flock -u 9

# Every mount lives and dies with the namespace. Loopback, names and terminal are the outer system's.
export base layer tree release roots shown
# The first process of a namespace takes no signal to end: who wants this one to end ends the namespace.
unshare --mount --pid --fork --kill-child bash -c '
set -euo pipefail
root=$layer/root
mount -t overlay overlay -o "lowerdir=$base,upperdir=$layer/upper,workdir=$layer/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
chmod 1777 "$root/tmp"
mount --bind "$tree" "$root/fourwalls"
mkdir -p "$tree/build"
mount --bind "$tree/build/roots/$release" "$root/fourwalls/build"
mount --bind "$roots/$release.archives" "$root/var/cache/apt/archives"
while read -r folder; do
    if [ -n "$folder" ]; then
        mkdir -p "$root$folder"
        mount --bind "$(realpath "$folder")" "$root$folder"
        mount -o remount,ro,bind "$root$folder"
    fi
done <<<"$shown"
if [ -n "${CCACHE_DIR:-}" ]; then
    mkdir -p "$CCACHE_DIR" "$root/var/cache/ccache"
    mount --bind "$CCACHE_DIR" "$root/var/cache/ccache"
fi
for file in resolv.conf hosts; do
    if [ -f /etc/$file ]; then cp -L /etc/$file "$root/etc/$file"; fi
done
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    ${TERM:+TERM=$TERM} ${CI:+CI=$CI} ${CCACHE_DIR:+CCACHE_DIR=/var/cache/ccache} chroot "$root" sh -c '\''cd /fourwalls && exec "$@"'\'' sh "$@"
' bash "$@" <&0 &
inside=$!
trap 'kill -KILL $inside; exec 2>/dev/null' TERM INT HUP
wait $inside
