/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_modules.h - the programs and libraries that another process has loaded: where they are, their
 * dynamic symbols, and the slots through which they call functions of each other. All is read from the
 * process's memory, and believed only as far as it does no harm.
 */
#ifndef FATHOM_PROCESS_REMOTE_MODULES_H
#define FATHOM_PROCESS_REMOTE_MODULES_H

#include "process/tracee.h"

typedef struct fm_remote_module {
    char *path;
    uint64_t base;              /* what is to be added to addresses of the file */
    uint64_t first, behind;     /* of all of it */
    uint64_t code, code_behind; /* of what is executable */
    /* As of its dynamic section; 0: none. */
    uint64_t symbols, strings, string_bytes, hash, gnu_hash;
    uint64_t slots[2], slot_bytes[2]; /* relocations of functions, and all others */
    unsigned char *string_text;       /* a copy */
} fm_remote_module;

typedef struct fm_remote_modules {
    fm_remote_module *modules;
    size_t count, capacity;
} fm_remote_modules;

fm_status fm_remote_modules_read(fm_remote_modules *modules, const fm_tracee *tracee, fm_error *error);
void fm_remote_modules_free(fm_remote_modules *modules);
/* By the last part of its path, as far as `name` goes: "libc.so" is also libc.so.6. NULL: none. */
const fm_remote_module *fm_remote_module_named(const fm_remote_modules *modules, const char *name);

/* The address of a function that a module defines, and its bytes. 0: none. */
uint64_t fm_remote_symbol(const fm_tracee *tracee, const fm_remote_module *module, const char *name,
                          uint64_t *bytes);

/* Each slot of a module that belongs to one of these names (NULL at the end): its index, where the slot is.
 */
typedef fm_status fm_remote_slot_function(void *context, size_t name, uint64_t slot, fm_error *error);
fm_status fm_remote_slots(const fm_tracee *tracee, const fm_remote_module *module, const char *const *names,
                          fm_remote_slot_function *found, void *context, fm_error *error);

/* The address of a syscall instruction in a module's code. 0: none. */
uint64_t fm_remote_bytes(const fm_tracee *tracee, const fm_remote_module *module, const void *bytes,
                         size_t count);

#endif
