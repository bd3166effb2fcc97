/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_kernels_body.h - the kernels of text_kernels.h, compiled once per instruction set by a file that
 * defines KERNEL_ISA, KERNEL_TABLE and KERNEL_USABLE, the condition under which a processor has all of it.
 */
#include "trace/lines/text_kernels.h"

#include <fathom/trace.h>

#if defined(__x86_64__)

#include "trace/lines/text_numbers.h"

#include <string.h>

static bool kernel_is_usable(void)
{
    return KERNEL_USABLE;
}

/* ---- tables; a text of keys is one of one column ---- */

static inline bool line_ends_at(const stretch *text, size_t end)
{
    return text->from[text->places[end] - 1] == '\n';
}

/* How many fields has the row whose first one ends at end number `end`, from 1. */
static inline size_t width_of_row(const stretch *text, size_t end)
{
    size_t fields = 1;
    for (; !line_ends_at(text, end); end++) fields++;
    return fields;
}

/* Whether all rows have so many fields. */
static inline bool all_equal(const stretch *text, size_t fields)
{
    size_t right = 0;
    if (text->lines * fields > text->ends) return false;
    for (size_t row = 1; row <= text->lines; row++) right += line_ends_at(text, row * fields);
    return right == text->lines; /* so no other field is a row's last */
}

/* A number that ends at *place. */
static inline bool one_decimal(const char *from, const uint16_t *place, uint64_t *value)
{
    const char *stop = from + place[0] - 1;
    return digits_decimal(from + place[-1], stop - (*stop == '\n' && stop[-1] == '\r'), value);
}

/* Any plain row; `places` are those of its fields' ends. */
static inline bool one_row(const fm_row_plan *plan, const char *from, const uint16_t *places, uint64_t *key,
                           uint32_t *size)
{
    uint64_t bytes;
    if (!one_decimal(from, places + plan->key_column - 1, key) ||
        __builtin_mul_overflow(*key, plan->key_unit, key))
        return false;
    if (!size) return true;
    if (!one_decimal(from, places + plan->size_column - 1, &bytes) ||
        __builtin_mul_overflow(bytes, plan->size_unit, &bytes))
        return false;
    *size = (uint32_t)bytes;
    return bytes <= UINT32_MAX && *key + bytes >= *key;
}

/* The largest number of units within the limit; none where units are larger than four_decimals knows. */
static inline long long most_units(uint64_t unit, uint64_t limit)
{
    const uint64_t most = limit / unit;
    return unit > UINT32_MAX ? -1 : most > INT64_MAX ? INT64_MAX : (long long)most;
}

/* For four keys, or two and their two sizes, whose sum then fits 64 bits. */
static inline scale scale_of(const fm_row_plan *plan, bool sized)
{
    const uint64_t size_unit = sized ? plan->size_unit : plan->key_unit;
    const long long key = (long long)plan->key_unit, size = (long long)size_unit,
                    key_most = most_units(plan->key_unit, UINT64_MAX - UINT32_MAX),
                    size_most = sized ? most_units(size_unit, UINT32_MAX) : key_most;
    return (scale){.unit = _mm256_set_epi64x(size, size, key, key),
                   .most = _mm256_set_epi64x(size_most, size_most, key_most, key_most),
                   .plain = key == 1 && size == 1};
}

/* Reads rows [row, rows), some at a time, as long as four_decimals can; returns the first that is not read.
 */
static inline __attribute__((always_inline)) size_t plain_rows(const fm_row_plan *plan, const scale *by,
                                                               const stretch *text, size_t columns,
                                                               size_t row, size_t rows, bool returns,
                                                               uint64_t *keys, uint32_t *sizes)
{
    const size_t some = sizes ? 2 : 4;
    const size_t key_returns = returns && plan->key_column == columns;
    const size_t size_returns = returns && plan->size_column == columns;
    const uint16_t *key = text->places + row * columns + plan->key_column,
                   *size = text->places + row * columns + plan->size_column;
    for (; row + some <= rows; row += some, key += some * columns, size += some * columns) {
        const field keys_of[4] = {{key, key_returns},
                                  {key + columns, key_returns},
                                  {key + 2 * columns, key_returns},
                                  {key + 3 * columns, key_returns}};
        const field sizes_of[2] = {{size, size_returns}, {size + columns, size_returns}};
        __m256i values;
        if (!four_decimals(text->from, keys_of[0], keys_of[1], sizes ? sizes_of[0] : keys_of[2],
                           sizes ? sizes_of[1] : keys_of[3], by, &values))
            break;
        if (!sizes) {
            _mm256_storeu_si256((__m256i *)(keys + row), values);
            continue;
        }
        const __m128i bytes = _mm256_extracti128_si256(values, 1);
        _mm_storeu_si128((__m128i *)(keys + row), _mm256_castsi256_si128(values));
        _mm_storel_epi64((__m128i *)(sizes + row), _mm_shuffle_epi32(bytes, 0x08));
    }
    return row;
}

/* Reads the first rows of a stretch, whose rows have all so many columns; returns how many it has read. */
static inline __attribute__((always_inline)) size_t equal_rows(const fm_row_plan *plan, const scale *by,
                                                               const stretch *text, size_t columns,
                                                               size_t rows, uint64_t *keys, uint32_t *sizes)
{
    for (size_t row = 0; row < rows;) {
        if (text->returns == NO_RETURNS)
            row = plain_rows(plan, by, text, columns, row, rows, false, keys, sizes);
        else if (text->returns == ALL_RETURNS)
            row = plain_rows(plan, by, text, columns, row, rows, true, keys, sizes);
        /* the last ones, or some of which one is another */
        for (size_t i = 0; i < 4 && row < rows; i++, row++)
            if (!one_row(plan, text->from, text->places + 1 + row * columns, &keys[row],
                         sizes ? &sizes[row] : NULL))
                return row;
    }
    return rows;
}

static size_t decimal_rows(const char **at, const char *end, uint64_t *keys, size_t room)
{
    static const fm_row_plan plan = {.key_column = 1, .key_unit = 1};
    stretch text;
    text.span = LEAST_SPAN;
    size_t count = 0;
    while (count < room && look_at(&text, *at, end, '\n', false)) {
        const size_t lines = text.lines < room - count ? text.lines : room - count;
        const size_t read = equal_rows(&plan, NULL, &text, 1, lines, keys + count, NULL);
        *at = text.from + text.places[read];
        count += read;
        if (read < lines) break;
        look_further(&text);
    }
    return count;
}

static inline bool enough_columns(const fm_row_plan *plan, size_t columns)
{
    return columns >= plan->key_column && columns >= plan->size_column &&
           (plan->columns == 0 || columns == plan->columns);
}

/* Likewise where rows have any number of columns. *end: how many ends they have.
 * Not inline: its array would be on the stack of all tables. */
static __attribute__((noinline)) size_t unequal_rows(const fm_row_plan *plan, const stretch *text,
                                                     size_t rows, size_t *end, uint64_t *keys,
                                                     uint32_t *sizes)
{
    uint16_t last[MOST_SPAN + 1]; /* which end is each row's last; again without a branch */
    size_t count = 0;
    for (size_t i = 1; i <= text->ends; i++) {
        last[count] = (uint16_t)i;
        count += line_ends_at(text, i);
    }
    *end = 0;
    for (size_t row = 0; row < rows; row++) {
        const uint16_t *places = text->places + 1 + *end;
        if (!enough_columns(plan, last[row] - *end) ||
            !one_row(plan, text->from, places, &keys[row], sizes ? &sizes[row] : NULL))
            return row;
        *end = last[row];
    }
    return rows;
}

static inline __attribute__((always_inline)) size_t
table(const fm_row_plan *plan, const char **at, const char *end, uint64_t *keys, uint32_t *sizes, size_t room)
{
    const scale by = scale_of(plan, sizes != NULL);
    stretch text;
    text.span = LEAST_SPAN;
    size_t count = 0;
    while (count < room && look_at(&text, *at, end, plan->delimiter, true)) {
        const size_t columns = width_of_row(&text, 1);
        const size_t rows = text.lines < room - count ? text.lines : room - count;
        uint64_t *key = keys + count;
        uint32_t *size = sizes ? sizes + count : NULL;
        size_t read = 0, last = 0;
        if (all_equal(&text, columns)) {
            if (enough_columns(plan, columns)) read = equal_rows(plan, &by, &text, columns, rows, key, size);
            last = read * columns;
            look_further(&text);
        } else {
            read = unequal_rows(plan, &text, rows, &last, key, size);
            look_less(&text);
        }
        *at = text.from + text.places[last];
        count += read;
        if (read < rows) break;
    }
    return count;
}

static size_t number_rows(const fm_row_plan *plan, const char **at, const char *end, uint64_t *keys,
                          uint32_t *sizes, size_t room)
{
    return sizes ? table(plan, at, end, keys, sizes, room) : table(plan, at, end, keys, NULL, room);
}

/* ---- traces of memory ---- */

/* The kind by the first three characters, without branches: they come in no order. The second one's low bits
 * tell the four apart. */
static inline bool lackey_kind(const char *line, uint8_t *kind)
{
    enum { L = 'L' & 31, S = 'S' & 31, M = 'M' & 31, FETCH = ' ' & 31, BLANKS = ' ' | ' ' << 16 };
    static const uint32_t marks[32] = {[L] = BLANKS | 'L' << 8,
                                       [S] = BLANKS | 'S' << 8,
                                       [M] = BLANKS | 'M' << 8,
                                       [FETCH] = 'I' | ' ' << 8 | ' ' << 16};
    static const uint8_t kinds[32] = {
        [L] = FM_KIND_LOAD, [S] = FM_KIND_STORE, [M] = FM_KIND_MODIFY, [FETCH] = FM_KIND_FETCH};
    uint32_t mark;
    memcpy(&mark, line, sizeof mark);
    const unsigned place = mark >> 8 & 31;
    *kind = kinds[place];
    return (mark & 0xffffff) == marks[place];
}

/* The size at the end of a line, and the comma before it: one or two digits, as nearly all are. Any other,
 * and a carriage return behind it, is left to the parser. */
static inline bool lackey_size(const char *stop, const char **comma, uint32_t *size)
{
    const uint32_t last = (uint32_t)(unsigned char)stop[-1] - '0';
    if (__builtin_expect(stop[-2] == ',', true)) {
        *comma = stop - 2;
        *size = last;
        return last - 1 < 9;
    }
    const uint32_t first = (uint32_t)(unsigned char)stop[-2] - '0';
    *comma = stop - 3;
    *size = 10 * first + last;
    return **comma == ',' && last <= 9 && first <= 9 && *size != 0;
}

static size_t lackey_rows(const char **at, const char *end, uint64_t *addresses, uint32_t *sizes,
                          uint8_t *kinds, size_t room)
{
    const hex_marks marks = hex_marks_make();
    const char *line = *at;
    size_t count = 0;
    for (const char *from = line; from < end && count < room; from += STEP) {
        uint64_t ends = bytes_equal(from, '\n') & bytes_before(from, end);
        for (; ends; ends &= ends - 1) {
            const char *stop = from + __builtin_ctzll(ends), *comma;
            if (!lackey_kind(line, &kinds[count])) goto out;
            if (!lackey_size(stop, &comma, &sizes[count])) goto out;
            if (!digits_hexadecimal(&marks, line + 3, comma, &addresses[count])) goto out;
            line = stop + 1;
            if (++count == room) goto out;
        }
    }
out:
    *at = line;
    return count;
}

static size_t din_rows(const char **at, const char *end, uint64_t *addresses, uint8_t *kinds, size_t room)
{
    static const uint8_t kind[4] = {FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_LOAD};
    const hex_marks marks = hex_marks_make();
    const char *line = *at;
    size_t count = 0;
    for (const char *from = line; from < end && count < room; from += STEP) {
        uint64_t ends = bytes_equal(from, '\n') & bytes_before(from, end);
        for (; ends; ends &= ends - 1) {
            const char *stop = from + __builtin_ctzll(ends);
            const unsigned label = (unsigned char)line[0] - (unsigned)'0';
            if (label > 3 || line[1] != ' ') goto out;
            if (!digits_hexadecimal(&marks, line + 2, stop - (stop[-1] == '\r'), &addresses[count])) goto out;
            kinds[count] = kind[label];
            line = stop + 1;
            if (++count == room) goto out;
        }
    }
out:
    *at = line;
    return count;
}

const fm_text_kernels KERNEL_TABLE = {.isa = KERNEL_ISA,
                                      .usable = kernel_is_usable,
                                      .decimals = decimal_rows,
                                      .rows = number_rows,
                                      .lackey = lackey_rows,
                                      .din = din_rows};

#endif
