# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Little files that unpack to a lot: the answer is right and memory stays small.
# 256 MiB of zeros: 32 Mi references to key 0.
head -c 256M /dev/zero | zstd -q -1 >zeros.u64.zst
peak 200 'fathom analyze zeros.u64.zst --json p.json --quiet'
fields p.json references distinct cold histogram
head -c 64M /dev/zero | gzip -1 >zeros.u64.gz
peak 200 'fathom analyze zeros.u64.gz --json p.json --force --quiet'
fields p.json references distinct cold histogram
# One line without an end.
head -c 256M /dev/zero | tr '\0' a | zstd -q -1 >line.txt.zst
peak 200 'fathom analyze line.txt.zst --quiet'
head -c 256M /dev/zero | tr '\0' 1 | zstd -q -1 >line.csv.zst
peak 200 'fathom analyze line.csv.zst --quiet'
# A window of 2 GiB that the decoder would have to hold.
head -c 1M /dev/zero | zstd -q -1 --long=31 >window.u64.zst
peak 200 'fathom analyze window.u64.zst --quiet'
