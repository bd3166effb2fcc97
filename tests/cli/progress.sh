# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Progress: only when asked for where standard error is no terminal, and only after a second.
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text --progress 2>log >/dev/null; grep -c "references, .*/s" log | sed "s/[1-9][0-9]*/some/"'
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text 2>log >/dev/null; grep -c "references, .*/s" log'
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text --progress --quiet 2>&1 >/dev/null | wc -c'
