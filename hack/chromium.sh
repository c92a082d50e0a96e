#!/usr/bin/env bash
# Makes sure there is a Chromium: the page of the results is tested in one.
set -euo pipefail
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null && exit 0
if ((EUID == 0)) && command -v apt-get >/dev/null; then
  apt-get -qq update >&2
  DEBIAN_FRONTEND=noninteractive exec apt-get -qq install --yes --no-install-recommends chromium >&2
fi
echo "the page is tested in a browser: install chromium" >&2
exit 3
