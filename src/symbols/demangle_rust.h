/* SPDX-License-Identifier: Apache-2.0 */
/* demangle_rust.h - Rust's names: the newer ones (v0, "_R…"), and the rest of the older ones. */
#ifndef FATHOM_SYMBOLS_DEMANGLE_RUST_H
#define FATHOM_SYMBOLS_DEMANGLE_RUST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A v0 name made readable, as c++filt does it: without the checksums of crates. Writes at most `size` bytes,
 * the zero included; false: it is none, is damaged, or needs more room. Time and depth are bounded, whatever
 * the name.
 */
bool fm_demangle_rust(const char *name, char *text, size_t size);

/* A C++ compiler's reading of an older name ("_ZN…17h0123456789abcdefE"): without the checksum at its end,
 * and signs as they are in the source. Any other text stays as it is. */
void fm_demangle_rust_tidy(char *text);

#endif
