#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes sure that the Debian packages of packages.txt, and those named as arguments, are installed; after --only, those
# named alone. As root it installs what is missing; otherwise it says what to install and exits with 1.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v dpkg-query >/dev/null; then
    echo "install_packages.sh: this is not a Debian system; install the equivalents of packaging/packages.txt" >&2
    exit 1
fi

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

listed=$(grep -v '^#' packages.txt)
if [ "${1:-}" = --only ]; then listed="" && shift; fi
missing=()
for line in $listed "$@"; do
    found=no
    for package in ${line//|/ }; do
        if installed "$package"; then found=yes; fi
    done
    if [ $found = no ]; then missing+=("${line%%|*}"); fi
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing: ${missing[*]}" >&2
    echo "Install them as root, then run this again:  apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q || echo "apt-get update did not fully succeed; going on with the lists at hand" >&2
apt-get install -y -q --no-install-recommends "${missing[@]}"
