/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_modules.h - the content of a native trace's module table: which files lay where. Works in memory
 * only; its header is in native_layout.h, docs/FORMAT.md specifies both.
 */
#ifndef FATHOM_TRACE_NATIVE_MODULES_H
#define FATHOM_TRACE_NATIVE_MODULES_H

#include "trace/native/native_layout.h"

/* The payload for these modules; the caller frees *bytes. Refuses what no reader would take back. */
fm_status fm_native_modules_store(const fm_trace_module *modules, size_t count, uint8_t **bytes, size_t *size,
                                  fm_error *error);

/* The modules in a payload; the caller frees *modules, which holds the strings too. False: memory is short
 * (*reason NULL), or it is no such payload (*reason, a fixed string). */
bool fm_native_modules_load(const uint8_t *bytes, size_t size, uint32_t count, fm_trace_module **modules,
                            const char **reason);

#endif
