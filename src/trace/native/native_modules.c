/* SPDX-License-Identifier: Apache-2.0 */
/* native_modules.c - see native_modules.h. */
#include "trace/native/native_modules.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* An entry: from u64 | to u64 | bias u64 | bytes of the path u32 | of the build ID u32 | path | build ID. */
enum { ENTRY_FIXED = 32 };

static bool is_hexadecimal(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
    }
    return true;
}

fm_status fm_native_modules_store(const fm_trace_module *modules, size_t count, uint8_t **bytes, size_t *size,
                                  fm_error *error)
{
    *bytes = NULL;
    *size = 0;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const fm_trace_module *module = &modules[i];
        if (!module->path || module->path[0] == '\0' || module->from > module->to)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "module %zu has no path, or ends before it begins; expected both", i);
        if (module->build_id && !is_hexadecimal(module->build_id, strlen(module->build_id)))
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "module %zu has the build ID '%s'; expected hexadecimal digits", i,
                           module->build_id);
        total += ENTRY_FIXED + strlen(module->path) + (module->build_id ? strlen(module->build_id) : 0);
        if (total > FM_NATIVE_MODULES_PAYLOAD_MAX)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "the names of %zu modules exceed the %d bytes that a trace has for them", count,
                           FM_NATIVE_MODULES_PAYLOAD_MAX);
    }
    if (count == 0) return FM_OK;
    uint8_t *at = *bytes = malloc(total);
    if (!at) return fm_fail_memory(error, total, "the module table of the trace");
    for (size_t i = 0; i < count; i++) {
        const fm_trace_module *module = &modules[i];
        size_t path = strlen(module->path), build_id = module->build_id ? strlen(module->build_id) : 0;
        fm_store64(at, module->from);
        fm_store64(at + 8, module->to);
        fm_store64(at + 16, module->bias);
        fm_store32(at + 24, (uint32_t)path);
        fm_store32(at + 28, (uint32_t)build_id);
        memcpy(at + ENTRY_FIXED, module->path, path);
        if (build_id > 0) memcpy(at + ENTRY_FIXED + path, module->build_id, build_id);
        at += ENTRY_FIXED + path + build_id;
    }
    *size = total;
    return FM_OK;
}

/* Copies a string of the payload behind *strings, and moves that on. */
static const char *copy_string(const uint8_t *from, size_t length, char **strings)
{
    char *text = *strings;
    memcpy(text, from, length);
    text[length] = '\0';
    *strings += length + 1;
    return text;
}

bool fm_native_modules_load(const uint8_t *bytes, size_t size, uint32_t count, fm_trace_module **modules,
                            const char **reason)
{
    *modules = NULL;
    *reason = "the module table counts other modules than it has";
    if (count > size / ENTRY_FIXED || (count == 0 && size > 0)) return false;
    /* A string is as long as it is stored, and ends with a zero: the entries' fixed parts are room for those.
     */
    fm_trace_module *found = fm_calloc(1, count * sizeof *found + size + 1);
    if (!found) {
        *reason = NULL;
        return false;
    }
    char *strings = (char *)(found + count);
    const uint8_t *at = bytes, *end = bytes + size;
    for (uint32_t i = 0; i < count; i++) {
        if ((size_t)(end - at) < ENTRY_FIXED) goto wrong;
        uint64_t path = fm_load32(at + 24), build_id = fm_load32(at + 28);
        const uint8_t *text = at + ENTRY_FIXED;
        if (path + build_id > (size_t)(end - text)) goto wrong;
        found[i] =
            (fm_trace_module){.from = fm_load64(at), .to = fm_load64(at + 8), .bias = fm_load64(at + 16)};
        if (path == 0 || memchr(text, '\0', path) || found[i].from > found[i].to ||
            !is_hexadecimal((const char *)text + path, build_id)) {
            *reason = "a module's path, build ID or range of addresses makes no sense";
            goto wrong;
        }
        found[i].path = copy_string(text, path, &strings);
        if (build_id > 0) found[i].build_id = copy_string(text + path, build_id, &strings);
        at = text + path + build_id;
    }
    if (at != end) goto wrong;
    *modules = found;
    *reason = NULL;
    return true;
wrong:
    free(found);
    return false;
}
