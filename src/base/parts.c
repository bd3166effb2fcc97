/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - see parts.h. */
#define _GNU_SOURCE
#include "base/parts.h"

#include "base/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool part_in(const char *directory, const char *between, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s%s/%s", directory, between, name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* Beside a file (the program, the library) as it is built, or as it is installed. */
static bool part_beside(const char *file, const char *name, char *path, size_t size)
{
    static const char *const places[] = {
        "/lib/fathom", "/fathom", "/../lib/fathom", "/../lib/x86_64-linux-gnu/fathom", "/../lib64/fathom",
    };
    char directory[PATH_MAX];
    if (!realpath(file, directory)) return false;
    char *slash = strrchr(directory, '/');
    if (!slash) return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (part_in(directory, places[i], name, path, size)) return true;
    return false;
}

bool fm_part_find(const char *directory, const char *name, char *path, size_t size)
{
    static const char here[] = "somewhere in the library";
    Dl_info library;
    if (!directory) directory = getenv("FATHOM_PARTS");
    if (directory && directory[0]) return part_in(directory, "", name, path, size);
    if (part_beside("/proc/self/exe", name, path, size)) return true;
    if (dladdr(here, &library) && library.dli_fname && part_beside(library.dli_fname, name, path, size))
        return true;
    path[0] = '\0';
    return false;
}

const void *fm_part_load(const char *path, const char *symbol, unsigned interface, bool global,
                         fm_error *error)
{
    void *handle = dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    const unsigned *functions = handle ? dlsym(handle, symbol) : NULL;
    if (functions && *functions == interface) return functions;
    if (!handle)
        fm_fail(error, FM_E_UNSUPPORTED, path, "cannot be loaded: %s", dlerror());
    else
        fm_fail(error, FM_E_UNSUPPORTED, path, "belongs to another version of fathom");
    if (handle) dlclose(handle);
    return NULL;
}
