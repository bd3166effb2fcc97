/* SPDX-License-Identifier: Apache-2.0 */
/* byte_order_mark.c - see byte_order_mark.h. */
#include "base/byte_order_mark.h"

#include "base/error.h"

#include <string.h>

typedef struct mark {
    const char *encoding; /* as iconv calls it; NULL: UTF-8 */
    const char *bytes;
    size_t length;
    const char *shown;
} mark;

/* UTF-32's little-endian mark begins with that of UTF-16: the longer one first. */
static const mark marks[] = {
    {NULL, "\xef\xbb\xbf", 3, NULL},
    {"UTF-32", "\xff\xfe\0\0", 4, "ff fe 00 00"},
    {"UTF-32", "\0\0\xfe\xff", 4, "00 00 fe ff"},
    {"UTF-16", "\xff\xfe", 2, "ff fe"},
    {"UTF-16", "\xfe\xff", 2, "fe ff"},
};

fm_status fm_byte_order_mark(const unsigned char *bytes, size_t count, const char *name, size_t *length,
                             fm_error *error)
{
    *length = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const mark *one = &marks[i];
        if (count < one->length || memcmp(bytes, one->bytes, one->length) != 0) continue;
        if (one->encoding)
            return fm_fail_at(error, FM_E_FORMAT, name, FM_PLACE_BYTE, 0,
                              "expected UTF-8 or ASCII, found the byte order mark of %s (%s); "
                              "'iconv -f %s -t UTF-8' converts it",
                              one->encoding, one->shown, one->encoding);
        *length = one->length;
        break;
    }
    return FM_OK;
}
