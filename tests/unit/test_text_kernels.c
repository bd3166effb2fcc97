/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_text_kernels.c - the kernels for lines of text, of every instruction set that this machine has,
 * against a reading byte by byte: the same numbers, and the same first line that is left to the parser. Lines
 * of all lengths, numbers of 0 to 22 digits, rows with other numbers of columns in the middle, blanks,
 * quotes, strings,
 * '\r' in none, some or all lines. Vector code: the release build runs this too.
 */
#include "case.h"
#include "random.h"

#include "trace/lines/text_kernels.h"

#include <fathom/trace.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four headers above first
enum { ROUNDS = 6000, MOST_BYTES = 24 << 10, MOST_LINES = MOST_BYTES, LONGEST_ROW = 4096 };

/* True once in so many times; never: 0. */
static bool once_in(uint64_t times)
{
    return times > 0 && random_below(times) == 0;
}

/* ---- the text ---- */

typedef struct text {
    char *memory, *from, *end; /* with margins, and no byte more */
} text;

static text copy_of(const char *bytes, size_t size)
{
    text copy = {.memory = malloc(size + 2 * (size_t)FM_TEXT_MARGIN)};
    copy.from = copy.memory + FM_TEXT_MARGIN;
    copy.end = copy.from + size;
    /* what is around it looks like a part of it */
    for (size_t i = 0; i < FM_TEXT_MARGIN; i++) {
        copy.memory[i] = "0123456789\n\r,\""[random_below(14)];
        copy.end[i] = "0123456789\n\r,\""[random_below(14)];
    }
    memcpy(copy.from, bytes, size);
    return copy;
}

/* How a text is written: one in so many, 0: none. */
typedef struct manner {
    unsigned digits; /* at most */
    uint64_t odd, returns, remark,
        unequal; /* fields, lines, rows with a long column, rows with more or less */
    unsigned columns;
} manner;

static manner any_manner(void)
{
    static const uint64_t often[] = {0, 0, 1000, 50, 5, 2}, returning[] = {0, 0, 1, 2, 100};
    return (manner){.digits = (unsigned[]){1, 3, 8, 16, 20}[random_below(5)],
                    .odd = often[random_below(6)],
                    .returns = returning[random_below(5)],
                    .remark = often[random_below(6)],
                    .unequal = often[random_below(6)],
                    .columns = 1 + (unsigned)random_below(5)};
}

static char *write_field(char *at, const manner *how)
{
    static const char *const odd[] = {"",
                                      " 7",
                                      "7 ",
                                      "0x1f",
                                      "\"7\"",
                                      "-1",
                                      "key",
                                      "+7",
                                      "1.",
                                      "1:",
                                      "/1",
                                      "1\r2",
                                      "\"a\nb\"",
                                      "\r",
                                      "\x80",
                                      "1\t",
                                      "0",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "4294967295",
                                      "4294967296",
                                      "4294967297",
                                      "99999999999999999999",
                                      "000000000000000000001",
                                      "00000000000000000007"};
    if (once_in(how->odd)) return at + sprintf(at, "%s", odd[random_below(sizeof odd / sizeof odd[0])]);
    const unsigned digits = 1 + (unsigned)random_below(how->digits);
    for (unsigned i = 0; i < digits; i++) *at++ = (char)('0' + random_below(10));
    return at;
}

/* Rows, or keys one a line. */
static text write_table(const manner *how, char delimiter)
{
    static char bytes[MOST_BYTES + 4 * LONGEST_ROW];
    const size_t size = once_in(3) ? random_below(300) : random_below(MOST_BYTES);
    char *at = bytes;
    while (at < bytes + size) {
        const unsigned columns = once_in(how->unequal) ? 1 + (unsigned)random_below(7) : how->columns;
        for (unsigned i = 0; i < columns; i++) {
            if (i > 0) *at++ = delimiter;
            if (how->columns > 1 && once_in(how->remark)) {
                const size_t length = once_in(50) ? LONGEST_ROW - 100 + random_below(200) : random_below(90);
                memset(at, 'x', length);
                at += length;
            } else {
                at = write_field(at, how);
            }
        }
        if (once_in(how->returns)) *at++ = '\r';
        *at++ = '\n';
    }
    return copy_of(bytes, (size_t)(at - bytes));
}

/* ---- the judge ---- */

/* A number of 1 to 20 digits that fits. */
static bool judge_decimal(const char *from, const char *end, uint64_t *value)
{
    *value = 0;
    if (from >= end || end - from > 20) return false;
    for (; from < end; from++)
        if (*from < '0' || *from > '9' || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*from - '0'), value))
            return false;
    return true;
}

static bool judge_row(const fm_row_plan *plan, const char *line, const char *stop, uint64_t *key,
                      uint64_t *size)
{
    uint64_t column = 1;
    bool right = true;
    *size = 0;
    if (plan->delimiter != '\n' &&
        (stop + 1 - line > LONGEST_ROW || memchr(line, '"', (size_t)(stop - line))))
        return false;
    /* A carriage return is the end of a line, or nothing for a kernel. */
    const char *within = memchr(line, '\r', (size_t)(stop - line));
    if (within && within + 1 < stop) return false;
    for (const char *from = line, *end;; from = end + 1, column++) {
        end = memchr(from, plan->delimiter, (size_t)(stop - from));
        const bool last = end == NULL;
        if (last) end = stop - (stop > from && stop[-1] == '\r');
        if (column == plan->key_column) right &= judge_decimal(from, end, key);
        if (column == plan->size_column) right &= judge_decimal(from, end, size);
        if (last) break;
    }
    return right && column >= plan->key_column && column >= plan->size_column &&
           (plan->columns == 0 || plan->columns == column) &&
           !__builtin_mul_overflow(*key, plan->key_unit, key) &&
           !__builtin_mul_overflow(*size, plan->size_unit, size) && *size <= UINT32_MAX &&
           *key + *size >= *key;
}

static size_t lines_read; /* so that nobody takes an empty test for a good one */

static void compare_rows(const fm_text_kernels *kernels, const fm_row_plan *plan, const text *rows,
                         size_t room)
{
    static uint64_t keys[MOST_LINES + 1];
    static uint32_t sizes[MOST_LINES + 1];
    const bool table = plan->delimiter != '\n';
    for (const char *line = rows->from; line < rows->end;) {
        const char *at = line;
        const uint64_t guard = random_next();
        keys[room] = guard;
        sizes[room] = (uint32_t)guard;
        const size_t count =
            table ? kernels->rows(plan, &at, rows->end, keys, plan->size_column ? sizes : NULL, room)
                  : kernels->decimals(&at, rows->end, keys, room);
        assert_true(count <= room && keys[room] == guard && sizes[room] == (uint32_t)guard);
        for (size_t i = 0; i <= count; i++) {
            const char *stop = line < rows->end ? memchr(line, '\n', (size_t)(rows->end - line)) : NULL;
            uint64_t key = 0, size = 0;
            const bool plain = stop && judge_row(plan, line, stop, &key, &size);
            if (i == count) {
                assert_ptr_equal(at, line);
                if (plain && count < room) fail_msg("%s: stopped at '%.40s'", kernels->isa, line);
                if (stop && count < room) line = stop + 1; /* the parser's */
                break;
            }
            if (!plain) fail_msg("%s: read '%.40s'", kernels->isa, line);
            assert_int_equal(keys[i], key);
            if (plan->size_column) assert_int_equal(sizes[i], size);
            line = stop + 1;
        }
        lines_read += count;
    }
}

static size_t any_room(void)
{
    return once_in(3) ? 1 + random_below(9) : MOST_LINES;
}

CASE(test_keys)
{
    const fm_row_plan plan = {.delimiter = '\n', .key_column = 1, .key_unit = 1, .size_unit = 1};
    const fm_text_kernels *kernels;
    for (size_t k = 0; (kernels = fm_text_kernels_at(k)); k++) {
        lines_read = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            manner how = any_manner();
            how.columns = 1;
            how.unequal = 0;
            text keys = write_table(&how, ',');
            compare_rows(kernels, &plan, &keys, any_room());
            free(keys.memory);
        }
        assert_true(lines_read > 100 * ROUNDS);
    }
}

CASE(test_rows)
{
    const fm_text_kernels *kernels;
    for (size_t k = 0; (kernels = fm_text_kernels_at(k)); k++) {
        lines_read = 0;
        for (unsigned round = 0; round < 2 * ROUNDS; round++) {
            static const uint64_t units[] = {
                1, 1, 512, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 40, UINT64_MAX};
            const manner how = any_manner();
            const char delimiter = ",;\t 5"[random_below(5)];
            fm_row_plan plan = {.delimiter = delimiter,
                                .key_column = 1 + random_below(how.columns),
                                .columns = once_in(4) ? how.columns : 0,
                                .key_unit = units[random_below(7)],
                                .size_unit = units[random_below(7)]};
            if (how.columns > 1 && !once_in(3)) do
                    plan.size_column = 1 + random_below(how.columns);
                while (plan.size_column == plan.key_column);
            text rows = write_table(&how, delimiter);
            compare_rows(kernels, &plan, &rows, any_room());
            free(rows.memory);
        }
        assert_true(lines_read > 100 * ROUNDS);
    }
}

/* ---- traces of memory ---- */

static char *write_access(char *at, bool lackey)
{
    static const char *const odd[] = {"==1== what\n", " L 1,0\n",   " L ,1\n", " X 1,1\n", "0 \n",
                                      "4 1\n",        "\n",         "0  1\n",  "1 g\n",    " L 1,x\n",
                                      " L 1,100\n",   " L 1,1\r\n", "2 1 x\n", "I\n",      " L\n"};
    if (once_in(30)) return at + sprintf(at, "%s", odd[random_below(sizeof odd / sizeof odd[0])]);
    const unsigned digits = 1 + (unsigned)random_below(once_in(20) ? 18 : 16);
    if (lackey)
        at += sprintf(at, "%s", (const char *[]){" L ", " S ", " M ", "I  "}[random_below(4)]);
    else
        at += sprintf(at, "%u ", (unsigned)random_below(4));
    for (unsigned i = 0; i < digits; i++) *at++ = "0123456789abcdefABCDEF"[random_below(22)];
    if (lackey)
        at += sprintf(at, ",%u", 1 + (unsigned)random_below(once_in(9) ? 120 : 12));
    else if (once_in(9))
        *at++ = '\r';
    *at++ = '\n';
    return at;
}

static bool judge_access(bool lackey, const char *line, const char *stop, uint64_t *address, uint32_t *size,
                         unsigned *kind)
{
    static const char *const starts[2][4] = {{"0 ", "1 ", "2 ", "3 "}, {" L ", " S ", "I  ", " M "}};
    static const unsigned kinds[2][4] = {{FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_LOAD},
                                         {FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_MODIFY}};
    const size_t start = lackey ? 3 : 2;
    unsigned i = 0;
    while (i < 4 && strncmp(line, starts[lackey][i], start) != 0) i++;
    if (i == 4) return false;
    *kind = kinds[lackey][i];
    const char *at = line + start, *first = at;
    uint64_t value;
    for (*address = 0; strchr("0123456789abcdefABCDEF", *at) && *at; at++)
        *address = *address << 4 | (uint64_t)strtoul((char[]){*at, 0}, NULL, 16);
    if (at == first || at - first > 16) return false;
    if (!lackey) return at == stop - (stop[-1] == '\r');
    if (*at != ',' || stop - at - 1 > 2 || !judge_decimal(at + 1, stop, &value) || value == 0) return false;
    *size = (uint32_t)value;
    return true;
}

static void compare_accesses(const fm_text_kernels *kernels, bool lackey, const text *trace, size_t room)
{
    static uint64_t addresses[MOST_LINES];
    static uint32_t sizes[MOST_LINES];
    static uint8_t kinds[MOST_LINES];
    for (const char *line = trace->from; line < trace->end;) {
        const char *at = line;
        const size_t count = lackey ? kernels->lackey(&at, trace->end, addresses, sizes, kinds, room)
                                    : kernels->din(&at, trace->end, addresses, kinds, room);
        for (size_t i = 0; i <= count; i++) {
            const char *stop = line < trace->end ? memchr(line, '\n', (size_t)(trace->end - line)) : NULL;
            uint64_t address = 0;
            uint32_t size = 0;
            unsigned kind = 0;
            const bool plain = stop && judge_access(lackey, line, stop, &address, &size, &kind);
            if (i == count) {
                assert_ptr_equal(at, line);
                if (plain && count < room) fail_msg("%s: stopped at '%.30s'", kernels->isa, line);
                if (stop && count < room) line = stop + 1;
                break;
            }
            if (!plain) fail_msg("%s: read '%.30s'", kernels->isa, line);
            assert_int_equal(addresses[i], address);
            assert_int_equal(kinds[i], kind);
            if (lackey) assert_int_equal(sizes[i], size);
            line = stop + 1;
        }
        lines_read += count;
    }
}

CASE(test_accesses)
{
    static char bytes[MOST_BYTES + 100];
    const fm_text_kernels *kernels;
    for (size_t k = 0; (kernels = fm_text_kernels_at(k)); k++) {
        lines_read = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            const bool lackey = round % 2;
            const size_t size = random_below(MOST_BYTES / 4);
            char *at = bytes;
            while (at < bytes + size) at = write_access(at, lackey);
            text trace = copy_of(bytes, (size_t)(at - bytes));
            compare_accesses(kernels, lackey, &trace, any_room());
            free(trace.memory);
        }
        assert_true(lines_read > 100 * ROUNDS);
    }
}

BEFORE_CASES
{
    if (!fm_text_kernels_at(0)) print_message("skip all this machine has no kernels for lines of text\n");
    return -1;
}
