# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by test scripts that speak TAP: one command is one case. $case_log is a file they may write to;
# $number cases have run, $failed of them failed.
case_log=${case_log:?the sourcing script names it}
number=0
failed=0

case_() { # description, command…
    local description=$1
    shift
    number=$((number + 1))
    if "$@" >"$case_log" 2>&1; then
        echo "ok $number - $description"
    else
        echo "not ok $number - $description"
        sed 's/^/# /' "$case_log"
        failed=$((failed + 1))
    fi
}
