/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_sysfs.c - see pmu_sysfs.h. */
#define _GNU_SOURCE
#include "sample/pmu_sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fm_pmu_file_read(const char *root, const char *path, char *text, size_t size)
{
    char name[1024];
    if (snprintf(name, sizeof name, "%s%s", root ? root : "", path) >= (int)sizeof name) return false;
    const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const ssize_t got = read(file, text, size);
    close(file);
    if (got < 0) return false;
    const char *end = memchr(text, '\n', (size_t)got);
    const size_t length = end ? (size_t)(end - text) : (size_t)got;
    if (length >= size) return false;
    text[length] = '\0';
    return true;
}

static bool parse_number(const char *text, uint64_t *value)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return *end == '\0' && errno == 0;
}

bool fm_pmu_device_find(fm_pmu_device *device, const char *root, const char *name)
{
    const int length = snprintf(device->directory, sizeof device->directory,
                                "%s/sys/bus/event_source/devices/%s", root ? root : "", name);
    if (length < 0 || (size_t)length >= sizeof device->directory) return false;
    const uint64_t type = fm_pmu_device_number(device, "type", UINT64_MAX);
    device->type = (uint32_t)type;
    return type <= UINT32_MAX;
}

bool fm_pmu_device_has(const fm_pmu_device *device, const char *file)
{
    char path[1024];
    if (snprintf(path, sizeof path, "%s/%s", device->directory, file) >= (int)sizeof path) return false;
    return access(path, R_OK) == 0;
}

static bool device_read(const fm_pmu_device *device, const char *folder, const char *file, char *text,
                        size_t size)
{
    char path[256];
    if (snprintf(path, sizeof path, "/%s%s", folder, file) >= (int)sizeof path) return false;
    return fm_pmu_file_read(device->directory, path, text, size);
}

uint64_t fm_pmu_device_number(const fm_pmu_device *device, const char *file, uint64_t none)
{
    char text[64];
    uint64_t value;
    if (!device_read(device, "", file, text, sizeof text) || !parse_number(text, &value)) return none;
    return value;
}

/* ---- fields ---- */

/* "0-7" or "21": *end is behind it. */
static bool parse_range(const char *text, unsigned *low, unsigned *high, const char **end)
{
    char *behind;
    if (*text < '0' || *text > '9') return false;
    const unsigned long first = strtoul(text, &behind, 10);
    unsigned long last = first;
    if (*behind == '-') {
        text = behind + 1;
        if (*text < '0' || *text > '9') return false;
        last = strtoul(text, &behind, 10);
    }
    if (last > 63 || first > last) return false;
    *low = (unsigned)first;
    *high = (unsigned)last;
    *end = behind;
    return true;
}

bool fm_pmu_format_apply(const char *format, uint64_t value, uint64_t config[3])
{
    static const char *const words[] = {"config:", "config1:", "config2:"};
    unsigned which = 0;
    while (which < 3 && strncmp(format, words[which], strlen(words[which])) != 0) which++;
    if (which == 3) return false;
    const char *at = format + strlen(words[which]);
    uint64_t bits = config[which];
    for (;;) {
        unsigned low, high;
        if (!parse_range(at, &low, &high, &at)) return false;
        const unsigned width = high - low + 1;
        const uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        bits = (bits & ~(mask << low)) | (value & mask) << low;
        value = width == 64 ? 0 : value >> width;
        if (*at == '\0') break;
        if (*at++ != ',') return false;
    }
    if (value != 0) return false;
    config[which] = bits;
    return true;
}

bool fm_pmu_device_set(const fm_pmu_device *device, const char *field, uint64_t value, uint64_t config[3])
{
    char format[128];
    return !strchr(field, '/') && device_read(device, "format/", field, format, sizeof format) &&
           fm_pmu_format_apply(format, value, config);
}

bool fm_pmu_device_event(const fm_pmu_device *device, const char *name, uint64_t config[3])
{
    char text[256], *next = NULL;
    uint64_t made[3] = {0};
    if (!device_read(device, "events/", name, text, sizeof text) || !text[0]) return false;
    for (char *term = strtok_r(text, ",", &next); term; term = strtok_r(NULL, ",", &next)) {
        char *equals = strchr(term, '=');
        uint64_t value = 1; /* a field of its own: it is on */
        if (equals) *equals = '\0';
        if (equals && !parse_number(equals + 1, &value)) return false;
        if (!fm_pmu_device_set(device, term, value, made)) return false;
    }
    memcpy(config, made, sizeof made);
    return true;
}
