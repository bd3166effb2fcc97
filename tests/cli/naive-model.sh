# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every engine, resolution and bound against a naive model in Python.
python3 "$TESTS/cli/naive_model.py"
