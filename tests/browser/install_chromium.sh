#!/bin/sh
# Installs what the tests of pages need and a fresh Debian lacks. Where this cannot be done they are skipped, so it never fails.
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium, for the tests of pages"
    log=$(mktemp)
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium; } \
        >"$log" 2>&1 || { tail -n 5 "$log" >&2; echo "Chromium could not be installed: the tests of pages have none" >&2; }
    rm -f "$log"
fi
exit 0
