/* SPDX-License-Identifier: Apache-2.0 */
/* site_text.c - sites and objects in one line of text each, from what is resolved. Reads no files. */
#include <fathom/attribution.h>

#include "profile/attribution_parts.h"

#include <inttypes.h>
#include <string.h>

static const char *module_name(const fm_attribution *attribution, uint32_t module)
{
    if (module >= attribution->module_count || !attribution->modules[module].path) return NULL;
    return fm_base_name(attribution->modules[module].path);
}

/* "function (file.c:12)" as far as it is known; false: neither the function nor a line is. */
static bool frame_text(const fm_frame *frame, const char *function, char *buffer, size_t size)
{
    if (!function) function = frame->function;
    if (!function && !(frame->file && frame->line)) return false;
    if (!function)
        snprintf(buffer, size, "%s:%" PRIu32, fm_base_name(frame->file), frame->line);
    else if (frame->file && frame->line)
        snprintf(buffer, size, "%s (%s:%" PRIu32 ")", function, fm_base_name(frame->file), frame->line);
    else if (frame->file)
        snprintf(buffer, size, "%s (%s)", function, fm_base_name(frame->file));
    else
        snprintf(buffer, size, "%s", function);
    return true;
}

char *fm_site_text(const fm_attribution *attribution, uint32_t site, char *buffer, size_t size)
{
    if (size == 0) return buffer;
    if (site >= attribution->site_count) {
        snprintf(buffer, size, "unknown");
        return buffer;
    }
    const fm_site *at = &attribution->sites[site];
    const char *module = module_name(attribution, at->module);
    if (at->frame_count > 0 && frame_text(&at->frames[0], at->symbol, buffer, size)) return buffer;
    if (at->symbol && module && fm_function_names_module(at->symbol, module)) module = NULL;
    if (at->symbol && at->symbol_offset)
        snprintf(buffer, size, "%s+0x%" PRIx64 "%s%s", at->symbol, at->symbol_offset, module ? " in " : "",
                 module ? module : "");
    else if (at->symbol)
        snprintf(buffer, size, "%s%s%s", at->symbol, module ? " in " : "", module ? module : "");
    else if (module)
        snprintf(buffer, size, "0x%" PRIx64 " in %s", at->address, module);
    else if (at->address)
        snprintf(buffer, size, "0x%" PRIx64 ", made at run time", at->address);
    else
        snprintf(buffer, size, "unknown");
    return buffer;
}

/* ---- objects ---- */

/* Code of compilers and systems: who allocates there does it for somebody else (std::vector, strdup). */
static bool is_system_file(const char *file)
{
    return strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib", 8) == 0 ||
           strstr(file, "/c++/") != NULL || strstr(file, "/libstdc++-v3/") != NULL;
}

static bool is_system_module(const fm_attribution *attribution, const fm_site *site)
{
    const char *path =
        site->module < attribution->module_count ? attribution->modules[site->module].path : NULL;
    return !path || strncmp(path, "/usr/lib", 8) == 0 || strncmp(path, "/lib", 4) == 0;
}

/* The frame of a call that the user wrote; false: it is of the system, or it is not known. */
static bool own_frame_text(const fm_site *site, char *buffer, size_t size)
{
    for (size_t i = 0; i < site->frame_count; i++) {
        const fm_frame *frame = &site->frames[i];
        if (frame->file && frame->line && !is_system_file(frame->file) &&
            frame_text(frame, NULL, buffer, size))
            return true;
    }
    return false;
}

/* The innermost place on an allocation's path that is the user's: of code without lines, the function in a
 * file that is none of the system's libraries. False: there is none that is known. */
static bool own_call_text(const fm_attribution *attribution, uint32_t path, char *buffer, size_t size)
{
    for (size_t steps = 0; path < attribution->path_count && steps < attribution->path_count; steps++) {
        const fm_call_path *call = &attribution->paths[path];
        const fm_site *site = call->call < attribution->site_count ? &attribution->sites[call->call] : NULL;
        if (site && !is_system_module(attribution, site)) {
            if (own_frame_text(site, buffer, size)) return true;
            if (site->frame_count == 0 && site->symbol) {
                fm_site_text(attribution, call->call, buffer, size);
                return true;
            }
        }
        path = call->parent;
    }
    return false;
}

static void heap_text(const fm_attribution *attribution, const fm_object *object, char *buffer, size_t size)
{
    char place[512];
    if (object->allocation >= attribution->path_count) {
        snprintf(buffer, size, "heap block from unknown code");
        return;
    }
    if (!own_call_text(attribution, object->allocation, place, sizeof place))
        fm_site_text(attribution, attribution->paths[object->allocation].call, place, sizeof place);
    snprintf(buffer, size, "heap block from %s", place);
}

char *fm_object_text(const fm_attribution *attribution, uint32_t object, char *buffer, size_t size)
{
    if (size == 0) return buffer;
    if (object >= attribution->object_count) {
        snprintf(buffer, size, "unknown");
        return buffer;
    }
    const fm_object *at = &attribution->objects[object];
    const char *module = module_name(attribution, at->module);
    switch (at->kind) {
    case FM_OBJECT_GLOBAL:
        if (at->name)
            snprintf(buffer, size, "global `%s`", at->name);
        else
            snprintf(buffer, size, "global at 0x%" PRIx64 " in %s", at->address, module ? module : "?");
        break;
    case FM_OBJECT_THREAD_LOCAL:
        if (at->name)
            snprintf(buffer, size, "thread-local `%s`", at->name);
        else
            snprintf(buffer, size, "thread-local storage of %s", module ? module : "?");
        break;
    case FM_OBJECT_ARRAY:
        snprintf(buffer, size, "array `%s`", at->name ? at->name : "?");
        break;
    case FM_OBJECT_HEAP:
        heap_text(attribution, at, buffer, size);
        break;
    case FM_OBJECT_STACK:
        if (at->thread)
            snprintf(buffer, size, "stack of thread %" PRIu32, at->thread);
        else
            snprintf(buffer, size, "stacks of other threads");
        break;
    case FM_OBJECT_MODULE:
        snprintf(buffer, size, "data of %s", module ? module : "?");
        break;
    case FM_OBJECT_OTHER:
        snprintf(buffer, size, "other memory");
        break;
    }
    return buffer;
}
