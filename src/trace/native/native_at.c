/* SPDX-License-Identifier: Apache-2.0 */
/* native_at.c - see native_at.h. */
#include "trace/native/native_at.h"

#include "base/memory.h"

#include <stdlib.h>
#include <xxhash.h>

enum { FIRST_CAPACITY = 256 << 10 };

bool fm_native_header_at(const fm_input *input, unsigned columns, fm_native_place place,
                         fm_native_block *block)
{
    uint8_t bytes[FM_NATIVE_BLOCK_HEADER_MAX];
    const size_t header = fm_native_block_header_size(columns);
    const uint64_t end = input->total < input->to ? input->total : input->to;
    const uint64_t room = end > place.offset ? end - place.offset : 0;
    return room >= header && fm_input_read_at(input, bytes, header, place.offset) &&
           fm_native_block_load(bytes, columns, block) && block->first_reference == place.reference &&
           room - header >= block->payload_bytes;
}

fm_native_place fm_native_place_behind(fm_native_place place, const fm_native_block *block)
{
    return (fm_native_place){.offset = place.offset + block->header_bytes + block->payload_bytes,
                             .reference = place.reference + block->references};
}

bool fm_native_block_reader_init(fm_native_block_reader *reader)
{
    reader->unpacker = fm_native_unpacker_create();
    return reader->unpacker &&
           fm_array_reserve((void **)&reader->payload, &reader->capacity, FIRST_CAPACITY, 1) == 0;
}

void fm_native_block_reader_clear(fm_native_block_reader *reader)
{
    fm_native_unpacker_destroy(reader->unpacker);
    free(reader->payload);
    *reader = (fm_native_block_reader){0};
}

bool fm_native_block_reader_read(fm_native_block_reader *reader, const fm_input *input, fm_native_place place,
                                 const fm_native_block *block, fm_columns *columns)
{
    const char *reason;
    if (fm_array_reserve((void **)&reader->payload, &reader->capacity, block->payload_bytes, 1) != 0 ||
        !fm_input_read_at(input, reader->payload, block->payload_bytes, place.offset + block->header_bytes) ||
        XXH3_64bits(reader->payload, block->payload_bytes) != block->payload_checksum ||
        !fm_native_unpack(reader->unpacker, reader->payload, block, columns, &reason))
        return false;
    columns->count = block->references;
    return true;
}
