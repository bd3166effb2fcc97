/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_log.c - reads the log of a burst; see burst_log.h. Whatever it is given, it stays inside. */
#include "burst_log.h"

enum {
    UNITS = 8, /* bytes of the table for one of a block's number */
};

void burst_reader_begin(burst_reader *reader, const void *table, size_t table_bytes, const uint64_t *log,
                        size_t words, uint64_t fs_base, uint64_t gs_base)
{
    reader->table = table;
    reader->table_bytes = table_bytes;
    reader->log = log;
    reader->words = words;
    reader->fs_base = fs_base;
    reader->gs_base = gs_base;
    reader->at = 0;
    reader->block = NULL;
    reader->values = NULL;
    reader->access = 0;
    reader->element = 0;
}

/* The next block of the log. */
static burst_reading next_block(burst_reader *reader)
{
    if (reader->at == reader->words) return BURST_READ_END;
    uint64_t number = reader->log[reader->at];
    size_t units = reader->table_bytes / UNITS;
    if (number < sizeof(burst_table) / UNITS || number >= units) return BURST_READ_DAMAGED;
    size_t left = (units - (size_t)number) * UNITS;
    if (left < sizeof(burst_block)) return BURST_READ_DAMAGED;
    const burst_block *block = (const void *)(reader->table + number * UNITS);
    if ((left - sizeof *block) / sizeof(burst_access) < block->accesses ||
        reader->words - reader->at - 1 < block->words)
        return BURST_READ_DAMAGED;
    reader->block = block;
    reader->values = reader->log + reader->at + 1;
    reader->at += 1 + (size_t)block->words;
    reader->access = 0;
    reader->element = 0;
    return BURST_READ_USE;
}

static uint64_t word_at(const burst_reader *reader, uint32_t place)
{
    return place < reader->block->words ? reader->values[place] : 0;
}

/* Element `i` of a row of numbers of `bytes` bytes, which begins at a word. */
static int64_t element_at(const burst_reader *reader, uint32_t place, uint32_t bytes, uint64_t i)
{
    if (bytes == 8) return (int64_t)word_at(reader, place + (uint32_t)i);
    uint64_t word = word_at(reader, place + (uint32_t)(i * bytes / 8));
    uint32_t shift = (uint32_t)(i * bytes % 8) * 8;
    word >>= shift;
    if (bytes == 4) return (int32_t)word;
    if (bytes == 2) return (int16_t)word;
    return (int8_t)word;
}

static uint64_t in_segment(const burst_reader *reader, const burst_access *access, uint64_t sum)
{
    if (access->scale_flags & BURST_SHORT) sum = (uint32_t)sum;
    if (access->scale_flags & BURST_FS) sum += reader->fs_base;
    if (access->scale_flags & BURST_GS) sum += reader->gs_base;
    return sum;
}

static uint64_t sum_address(const burst_reader *reader, const burst_access *access, int64_t addend)
{
    uint64_t sum = (uint64_t)addend;
    if (access->base != BURST_NO_WORD) sum += word_at(reader, access->base);
    if (access->index != BURST_NO_WORD) {
        uint64_t index = word_at(reader, access->index);
        if (access->form_kind >> 4 == BURST_TABLE) index &= 0xff;
        sum += index << (access->scale_flags >> 6);
    }
    return sum;
}

static void access_tell(const burst_reader *reader, const burst_access *access, uint64_t address,
                        burst_use *use)
{
    use->address = address;
    use->instruction = reader->block->address + access->instruction;
    use->size = access->size;
    use->kind = (burst_kind)(access->form_kind & 3);
    use->branch = access->form_kind & (BURST_CALLS | BURST_RETURNS);
    use->entry = (uint32_t)((const unsigned char *)access - reader->table);
}

/* The accesses of a repeated string instruction: so many repetitions, with one or two accesses each. */
typedef struct string_row {
    uint64_t times, each, size;
    bool down; /* from higher addresses to lower ones */
} string_row;

static string_row row_of(const burst_reader *reader, const burst_access *access)
{
    const bool paired =
        (access->scale_flags & BURST_PAIRED) != 0 && reader->access + 1 < reader->block->accesses;
    const int64_t moved = (int64_t)(word_at(reader, access->index) - word_at(reader, access->base));
    const uint64_t size = access->size ? access->size : 1;
    return (string_row){.times = (moved < 0 ? 0 - (uint64_t)moved : (uint64_t)moved) / size,
                        .each = paired ? 2 : 1,
                        .size = size,
                        .down = moved < 0};
}

/* One of them; false when there are no more. */
static bool string_next(burst_reader *reader, const burst_access *access, burst_use *use)
{
    const string_row row = row_of(reader, access);
    if (reader->element / row.each >= row.times) {
        reader->access += (uint32_t)row.each;
        reader->element = 0;
        return false;
    }
    const uint64_t offset = reader->element / row.each * row.size;
    const burst_access *turn = access + (row.each == 2 ? reader->element % 2 : 0);
    const uint64_t address = word_at(reader, turn->base) + (row.down ? 0 - offset : offset);
    access_tell(reader, turn, in_segment(reader, turn, address), use);
    reader->element++;
    return true;
}

static bool masked_in(const burst_reader *reader, const burst_access *access, uint64_t element)
{
    const burst_vector *vector = &access->vector;
    if (vector->mask == BURST_NO_WORD) return true;
    if (access->scale_flags & BURST_MASK_BITS) return word_at(reader, vector->mask) >> (element & 63) & 1;
    return element_at(reader, vector->mask, access->size, element) < 0;
}

/* One element of a gather; false when there are no more. */
static bool gather_next(burst_reader *reader, const burst_access *access, burst_use *use)
{
    const burst_vector *vector = &access->vector;
    while (reader->element < vector->count) {
        uint64_t i = reader->element++;
        if (!masked_in(reader, access, i)) continue;
        uint64_t sum = (uint64_t)(int64_t)vector->addend;
        if (access->base != BURST_NO_WORD) sum += word_at(reader, access->base);
        sum += (uint64_t)element_at(reader, access->index, vector->index_bytes, i)
               << (access->scale_flags >> 6);
        access_tell(reader, access, in_segment(reader, access, sum), use);
        return true;
    }
    reader->access++;
    reader->element = 0;
    return false;
}

/* How many there are. */
static uint64_t bits_of(uint64_t word)
{
    uint64_t count = 0;
    for (; word; word &= word - 1) count++;
    return count;
}

/* The elements that are in the mask, one bit each; there are 64 at most. */
static uint64_t mask_of(const burst_reader *reader, const burst_access *access)
{
    const burst_vector *vector = &access->vector;
    const uint32_t count = vector->count < 64 ? vector->count : 64;
    uint64_t mask = 0;
    if (vector->mask == BURST_NO_WORD)
        mask = UINT64_MAX;
    else if (access->scale_flags & BURST_MASK_BITS)
        mask = word_at(reader, vector->mask);
    else
        for (uint32_t i = 0; i < count; i++) mask |= (uint64_t)masked_in(reader, access, i) << i;
    return count ? mask & UINT64_MAX >> (64 - count) : 0;
}

/*
 * The next elements of an access under a mask; false when there are no more. With a mask of bits, elements
 * side by side are one access: string functions read a few bytes so, which is no more than a load without a
 * mask. Those whose signs count are single accesses, as Valgrind has them.
 */
static bool masked_next(burst_reader *reader, const burst_access *access, burst_use *use)
{
    const bool together = access->scale_flags & BURST_MASK_BITS || access->vector.mask == BURST_NO_WORD;
    const bool compressed = access->scale_flags & BURST_COMPRESSED;
    const uint64_t mask = mask_of(reader, access);
    const uint64_t left = reader->element < 64 ? mask >> reader->element << reader->element : 0;
    if (left == 0) {
        reader->access++;
        reader->element = 0;
        return false;
    }
    const uint64_t first = (uint64_t)__builtin_ctzll(left);
    const uint64_t outside = ~(left >> first);
    uint64_t place = first, count = 1;
    if (compressed) { /* its place is among those that are in the mask */
        place = bits_of(mask ^ left);
        count = bits_of(left);
    } else if (together) {
        count = outside ? (uint64_t)__builtin_ctzll(outside) : 64;
    }
    reader->element = compressed ? 64 : first + count;
    access_tell(
        reader, access,
        in_segment(reader, access, sum_address(reader, access, access->vector.addend) + place * access->size),
        use);
    use->size = (uint32_t)(count * access->size);
    return true;
}

burst_reading burst_reader_next(burst_reader *reader, burst_use *use)
{
    for (;;) {
        while (!reader->block || reader->access >= reader->block->accesses) {
            burst_reading reading = next_block(reader);
            if (reading != BURST_READ_USE) return reading;
        }
        const burst_access *access = &reader->block->access[reader->access];
        switch (access->form_kind >> 4) {
        case BURST_PLAIN:
        case BURST_TABLE:
            access_tell(reader, access,
                        in_segment(reader, access, sum_address(reader, access, access->addend)), use);
            reader->access++;
            return BURST_READ_USE;
        case BURST_BIT: {
            int64_t bit = element_at(reader, access->vector.mask, access->vector.index_bytes, 0);
            uint64_t sum = sum_address(reader, access, access->vector.addend) + (uint64_t)(bit >> 3);
            access_tell(reader, access, in_segment(reader, access, sum), use);
            reader->access++;
            return BURST_READ_USE;
        }
        case BURST_STRING:
            if (string_next(reader, access, use)) return BURST_READ_USE;
            break;
        case BURST_MASKED:
            if (masked_next(reader, access, use)) return BURST_READ_USE;
            break;
        case BURST_GATHER:
            if (gather_next(reader, access, use)) return BURST_READ_USE;
            break;
        default:
            return BURST_READ_DAMAGED;
        }
    }
}

/* One of the block's first `words` values; 0 if it is none of these. Without a branch: which accesses have a
 * base and an index is nothing that a processor foresees. The block's number is before the values, and so
 * there is always something to read. */
static inline uint64_t value_or_zero(const uint64_t *values, uint32_t place, uint32_t words)
{
    const uint64_t in = 0 - (uint64_t)(place < words);
    return (values - 1)[(place + UINT64_C(1)) & in] & in;
}

/* The address of a plain access. values: the first `words` of the block's. */
static inline uint64_t plain_address(const burst_reader *reader, const burst_access *access,
                                     const uint64_t *values, uint32_t words)
{
    const uint64_t base = value_or_zero(values, access->base, words);
    const uint64_t index = value_or_zero(values, access->index, words);
    const uint64_t sum = (uint64_t)access->addend + base + (index << (access->scale_flags >> 6));
    if (access->scale_flags & (BURST_SHORT | BURST_FS | BURST_GS)) return in_segment(reader, access, sum);
    return sum;
}

static uint32_t words_of_block(const burst_block *block)
{
    return block->words < BURST_NO_WORD ? block->words : BURST_NO_WORD;
}

/* Most blocks have plain accesses only; these are read here, one block after the other, and the others one by
 * one as above. */
static size_t take_plain(burst_reader *reader, burst_use *uses, size_t room)
{
    const burst_block *block = reader->block;
    const uint64_t *values = reader->values;
    const uint32_t words = words_of_block(block), end = block->accesses;
    uint32_t at = reader->access;
    size_t count = 0;
    for (; at < end && count < room; at++, count++) {
        const burst_access *access = &block->access[at];
        if (access->form_kind >> 4 != BURST_PLAIN) break;
        access_tell(reader, access, plain_address(reader, access, values, words), &uses[count]);
    }
    reader->access = at;
    return count;
}

size_t burst_reader_take(burst_reader *reader, burst_use *uses, size_t room)
{
    size_t count = 0;
    while (count < room) {
        if (!reader->block || reader->access >= reader->block->accesses) {
            if (next_block(reader) != BURST_READ_USE) return count;
            continue; /* it may have none */
        }
        const size_t more = reader->element == 0 ? take_plain(reader, uses + count, room - count) : 0;
        count += more;
        if (more == 0) {
            if (burst_reader_next(reader, &uses[count]) != BURST_READ_USE) return count;
            count++;
        }
    }
    return count;
}

/* ---- passing over accesses ---- */

/* So that one of its accesses is next. */
static bool has_next(burst_reader *reader)
{
    while (!reader->block || reader->access >= reader->block->accesses)
        if (next_block(reader) != BURST_READ_USE) return false;
    return true;
}

/* How many of the block's next accesses, of `most`, are plain. */
static uint64_t plain_ahead(const burst_reader *reader, uint64_t most)
{
    const burst_access *access = &reader->block->access[reader->access];
    const uint32_t left = reader->block->accesses - reader->access;
    const uint32_t end = most < left ? (uint32_t)most : left;
    uint32_t count = 0;
    while (count < end && access[count].form_kind >> 4 == BURST_PLAIN) count++;
    return count;
}

bool burst_reader_pass(burst_reader *reader, uint64_t accesses)
{
    burst_use use;
    while (accesses > 0 && has_next(reader)) {
        const uint64_t passed = plain_ahead(reader, accesses);
        reader->access += (uint32_t)passed;
        accesses -= passed;
        if (passed > 0) continue;
        if (burst_reader_next(reader, &use) != BURST_READ_USE) return false;
        accesses--;
    }
    return accesses == 0;
}

static inline bool touches_word(uint64_t address, uint64_t size, uint64_t word)
{
    return word + 7 - address < size + 7; /* wraps where it lies behind the word */
}

/* Passes over plain accesses of the block up to one that touches the word, which is next then. */
static inline bool seek_plain(burst_reader *reader, uint64_t word, uint64_t *ahead)
{
    const burst_block *block = reader->block;
    const uint64_t *values = reader->values;
    const uint32_t count = words_of_block(block);
    const uint32_t left = block->accesses - reader->access;
    const uint32_t most = *ahead < left ? (uint32_t)*ahead : left;
    const burst_access *access = &block->access[reader->access];
    uint32_t passed = 0;
    bool found = false;
    for (; passed < most; passed++, access++) {
        if (access->form_kind >> 4 != BURST_PLAIN) break;
        found = touches_word(plain_address(reader, access, values, count), access->size, word);
        if (found) break;
    }
    reader->access += passed;
    *ahead -= passed;
    return found;
}

/* Passes over elements of a string, if it is one that is next. */
static void pass_string(burst_reader *reader, uint64_t word, uint64_t *ahead)
{
    const burst_access *access = &reader->block->access[reader->access];
    if (access->form_kind >> 4 != BURST_STRING || access->scale_flags & BURST_SHORT) return;
    const string_row row = row_of(reader, access);
    const uint64_t step = row.down ? 0 - row.size : row.size;
    uint64_t address[2];
    for (uint64_t turn = 0; turn < row.each; turn++)
        address[turn] = in_segment(reader, &access[turn],
                                   word_at(reader, access[turn].base) + reader->element / row.each * step);
    uint64_t turn = reader->element % row.each;
    if (turn == 1) address[0] += step;
    while (*ahead > 0 && reader->element / row.each < row.times &&
           !touches_word(address[turn], row.size, word)) {
        address[turn] += step;
        turn = row.each - 1 - turn;
        reader->element++;
        (*ahead)--;
    }
}

bool burst_reader_seek(burst_reader *reader, uint64_t word, uint64_t *ahead, burst_use *use)
{
    while (*ahead > 0 && has_next(reader)) {
        bool found = reader->element == 0 && seek_plain(reader, word, ahead);
        if (!found && reader->access < reader->block->accesses) pass_string(reader, word, ahead);
        if (*ahead == 0) return false;
        if (reader->access >= reader->block->accesses) continue;
        if (burst_reader_next(reader, use) != BURST_READ_USE) return false;
        (*ahead)--;
        if (touches_word(use->address, use->size, word)) return true;
    }
    return false;
}
