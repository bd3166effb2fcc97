/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - the caches of this machine, as the kernel tells them, or as hwloc sees them where it does not.
 *
 * hwloc's own environment variables are honoured (HWLOC_XMLFILE, HWLOC_SYNTHETIC), so that another
 * machine can be asked about, and tests know what to expect. Of several caches of one level, the first one in
 * hwloc's order stands for all: on hybrid processors that is one kind of core.
 */
#include <fathom/model.h>

#include "base/error.h"
#include "model/machine_sysfs.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

static void describe(fm_cache *cache, hwloc_obj_t object)
{
    const struct hwloc_cache_attr_s *attributes = &object->attr->cache;
    memset(cache, 0, sizeof *cache);
    snprintf(cache->name, sizeof cache->name, "L%u%s", attributes->depth,
             attributes->type == HWLOC_OBJ_CACHE_DATA ? "d" : "");
    cache->bytes = attributes->size;
    cache->line = attributes->linesize;
    /* hwloc: 0 is unknown, -1 fully associative. */
    cache->ways = attributes->associativity > 0 ? (uint64_t)attributes->associativity : 0;
    int sharing = object->cpuset ? hwloc_bitmap_weight(object->cpuset) : 0;
    cache->shared_by = sharing > 0 ? (unsigned)sharing : 0;
}

fm_status fm_machine_caches(fm_cache *caches, size_t capacity, size_t *count, fm_error *error)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                              HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};
    *count = fm_hwloc_is_told() ? 0 : fm_sysfs_caches("", fm_first_processor(), caches, capacity);
    if (*count > 0) return FM_OK;
    hwloc_topology_t topology;
    errno = 0;
    if (hwloc_topology_init(&topology) != 0)
        return fm_fail(error, errno == ENOMEM ? FM_E_NOMEM : FM_E_IO, NULL,
                       "hwloc cannot start to read this machine's caches: %s", strerror(errno ? errno : EIO));
    if (hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_load(topology) != 0) {
        int failure = errno ? errno : EIO;
        hwloc_topology_destroy(topology);
        return fm_fail(
            error, failure == ENOMEM ? FM_E_NOMEM : FM_E_IO, NULL,
            "hwloc cannot read this machine's caches (or those that HWLOC_XMLFILE or HWLOC_SYNTHETIC "
            "describe): %s",
            strerror(failure));
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels && *count < capacity; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, levels[i], 0);
        if (object && object->attr && object->attr->cache.size) describe(&caches[(*count)++], object);
    }
    hwloc_topology_destroy(topology);
    return FM_OK;
}
