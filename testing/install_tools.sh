#!/bin/sh
# Installs the programs that tests need and a fresh Debian lacks: the name that each is called by, and its package.
# Where this cannot be done, their tests are skipped, or fail in CI (testing/tools.py), so this never fails.
install_tool() {
    PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null 2>&1 && return
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return
    echo "Installing $2, for its tests"
    log=$(mktemp)
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$2"; } \
        >"$log" 2>&1 || { tail -n 5 "$log" >&2; echo "$2 could not be installed: its tests have none" >&2; }
    rm -f "$log"
}

install_tool chromium chromium
install_tool nginx nginx
install_tool openssl openssl
install_tool node nodejs
install_tool npm npm
install_tool bridge iproute2
exit 0
