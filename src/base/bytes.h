/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - little-endian numbers in byte buffers, on any machine and at any alignment. Compilers turn
 * each of these into one instruction where the machine is little-endian itself.
 */
#ifndef FATHOM_BASE_BYTES_H
#define FATHOM_BASE_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t fm_load16(const void *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static inline uint32_t fm_load32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static inline uint64_t fm_load64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

static inline void fm_store16(void *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

static inline void fm_store32(void *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static inline void fm_store64(void *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

#endif
