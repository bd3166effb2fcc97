/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c - see json.h. The grammar is that of RFC 8259. */
#include "base/json.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { END = -1 };

/* ---- bytes ---- */

void fm_json_scan_close(fm_json_scan *scan)
{
    if (scan->descriptor > STDIN_FILENO) close(scan->descriptor);
    scan->descriptor = -1;
}

/* Reads on behind the bytes not yet taken; they move to the front. False at the end, and when a read failed.
 */
static bool read_on(fm_json_scan *scan)
{
    if (scan->failure) return false;
    scan->filled -= scan->at;
    memmove(scan->buffer, scan->buffer + scan->at, scan->filled);
    scan->offset += scan->at;
    scan->at = 0;
    ssize_t got;
    do got = read(scan->descriptor, scan->buffer + scan->filled, sizeof scan->buffer - scan->filled);
    while (got < 0 && errno == EINTR);
    if (got < 0) scan->failure = fm_fail_io(scan->error, scan->path, "read", errno);
    if (got <= 0) return false;
    scan->filled += (size_t)got;
    return true;
}

/* RFC 8259, 8.1: parsers may ignore a mark. A read that fails is reported by the next call that needs its
 * bytes. */
static fm_status pass_byte_order_mark(fm_json_scan *scan)
{
    size_t length;
    while (scan->filled < FM_BYTE_ORDER_MARK_MAX && read_on(scan)) {
    }
    fm_status status = fm_byte_order_mark(scan->buffer, scan->filled, scan->path, &length, scan->error);
    scan->at = length;
    return status;
}

fm_status fm_json_scan_open(fm_json_scan *scan, const char *path, fm_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    scan->path = standard ? "standard input" : path;
    scan->error = error;
    scan->offset = 0;
    scan->at = scan->filled = 0;
    scan->failure = FM_OK;
    scan->descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (scan->descriptor < 0) return fm_fail_io(error, scan->path, "open", errno);
    fm_status status = pass_byte_order_mark(scan);
    if (status != FM_OK) fm_json_scan_close(scan);
    return status;
}

/* The next byte without taking it, or END; a failed read is END with scan->failure set. */
static int json_look(fm_json_scan *scan)
{
    if (scan->at == scan->filled && !read_on(scan)) return END;
    return scan->buffer[scan->at];
}

/* Whether the word comes next, and no longer one that begins like it. Takes nothing. */
static bool word_comes(fm_json_scan *scan, const char *word)
{
    const size_t length = strlen(word);
    while (scan->filled - scan->at <= length && read_on(scan)) {
    }
    const size_t have = scan->filled - scan->at;
    const unsigned char *next = scan->buffer + scan->at;
    if (have < length || memcmp(next, word, length) != 0) return false;
    if (have == length) return true; /* at the end of the file */
    unsigned char letter = next[length] | 0x20;
    return letter < 'a' || letter > 'z';
}

static int next_byte(fm_json_scan *scan)
{
    int byte = json_look(scan);
    if (byte != END) scan->at++;
    return byte;
}

static int look_past_blanks(fm_json_scan *scan)
{
    int byte;
    while ((byte = json_look(scan)) == ' ' || byte == '\t' || byte == '\n' || byte == '\r') scan->at++;
    return byte;
}

fm_status fm_json_refuse(fm_json_scan *scan, const char *format, ...)
{
    if (scan->failure) return scan->failure; /* the read's error was reported already */
    char reason[sizeof scan->error->reason];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    fm_fail_at(scan->error, FM_E_FORMAT, scan->path, FM_PLACE_BYTE, scan->offset + scan->at, "%s", reason);
    return FM_E_FORMAT;
}

/* Whether the file ends in the middle of the word; word_comes was asked before and said no. */
static bool ends_within(const fm_json_scan *scan, const char *word)
{
    const size_t have = scan->filled - scan->at;
    return have < strlen(word) && memcmp(scan->buffer + scan->at, word, have) == 0;
}

/* "expected …, found 'x'" about the next byte. */
static fm_status refuse_byte(fm_json_scan *scan, const char *expected)
{
    int byte = json_look(scan);
    if (byte == END) {
        if (scan->offset + scan->at == 0)
            return fm_json_refuse(scan, "expected a profile in JSON, found an empty file");
        return fm_json_refuse(scan, "expected %s, found the end of the file", expected);
    }
    if (byte > 0x20 && byte < 0x7F) return fm_json_refuse(scan, "expected %s, found '%c'", expected, byte);
    return fm_json_refuse(scan, "expected %s, found the byte 0x%02x", expected, (unsigned)byte);
}

/* ---- structure ---- */

const char *fm_json_kind_name(fm_json_kind kind)
{
    switch (kind) {
    case FM_JSON_OBJECT:
        return "an object";
    case FM_JSON_ARRAY:
        return "an array";
    case FM_JSON_STRING:
        return "a string";
    case FM_JSON_NUMBER:
        return "a number";
    case FM_JSON_TRUTH:
        return "true or false";
    case FM_JSON_NULL:
        break;
    }
    return "null";
}

fm_status fm_json_peek(fm_json_scan *scan, fm_json_kind *kind)
{
    int byte = look_past_blanks(scan);
    if (byte == '{')
        *kind = FM_JSON_OBJECT;
    else if (byte == '[')
        *kind = FM_JSON_ARRAY;
    else if (byte == '"')
        *kind = FM_JSON_STRING;
    else if (byte == '-' || (byte >= '0' && byte <= '9'))
        *kind = FM_JSON_NUMBER;
    else if (word_comes(scan, "true") || word_comes(scan, "false"))
        *kind = FM_JSON_TRUTH;
    else if (word_comes(scan, "null"))
        *kind = FM_JSON_NULL;
    else {
        /* The mistake of a file that was cut is at its end. */
        if (ends_within(scan, "true") || ends_within(scan, "false") || ends_within(scan, "null"))
            scan->at = scan->filled;
        return refuse_byte(scan, "a JSON value");
    }
    return FM_OK;
}

fm_status fm_json_enter(fm_json_scan *scan, fm_json_list *list)
{
    int byte = look_past_blanks(scan);
    *list = (fm_json_list){0};
    if (byte != '{' && byte != '[') return refuse_byte(scan, "{ or [");
    scan->at++;
    list->close = byte == '{' ? '}' : ']';
    return FM_OK;
}

fm_status fm_json_more(fm_json_scan *scan, fm_json_list *list, bool *more)
{
    int byte = look_past_blanks(scan);
    *more = byte != list->close;
    if (!*more) {
        scan->at++;
        return FM_OK;
    }
    if (list->begun) {
        if (byte != ',') return refuse_byte(scan, list->close == '}' ? ", or }" : ", or ]");
        scan->at++;
    }
    list->begun = true;
    return FM_OK;
}

/* ---- strings ---- */

/* Where the characters of a string go: into memory that grows, into a buffer that cuts, or nowhere. */
typedef struct text_sink {
    char *text;
    size_t length, capacity;
    bool grows;
} text_sink;

static fm_status json_put(fm_json_scan *scan, text_sink *sink, const char *bytes, size_t count)
{
    if (sink->grows && sink->capacity - sink->length <= count) {
        void *grown = sink->text;
        if (fm_array_reserve(&grown, &sink->capacity, sink->length + count + 1, 1))
            return fm_fail_memory(scan->error, sink->length + count + 1, "a text of the profile");
        sink->text = grown;
    }
    if (sink->capacity - sink->length <= count) return FM_OK; /* cut */
    memcpy(sink->text + sink->length, bytes, count);
    sink->length += count;
    return FM_OK;
}

static fm_status read_hex(fm_json_scan *scan, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        int byte = json_look(scan);
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;
        if (digit < 0) return refuse_byte(scan, "four hexadecimal digits after \\u");
        *value = *value << 4 | (uint32_t)digit;
        scan->at++;
    }
    return FM_OK;
}

/* After \u: one character, which may need a second \u. */
static fm_status read_escaped_character(fm_json_scan *scan, uint32_t *character)
{
    fm_status status = read_hex(scan, character);
    if (status) return status;
    if (*character == 0) return fm_json_refuse(scan, "expected text, found the character U+0000");
    if (*character < 0xD800 || *character > 0xDFFF) return FM_OK;
    uint32_t low = 0;
    if (*character <= 0xDBFF && next_byte(scan) == '\\' && next_byte(scan) == 'u') {
        status = read_hex(scan, &low);
        if (status) return status;
    }
    if (low < 0xDC00 || low > 0xDFFF) return fm_json_refuse(scan, "expected a pair of surrogates, found one");
    *character = 0x10000 + ((*character - 0xD800) << 10) + (low - 0xDC00);
    return FM_OK;
}

static fm_status read_escape(fm_json_scan *scan, text_sink *sink)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int byte = json_look(scan);
    char bytes[4];
    if (byte == 'u') {
        scan->at++;
        uint32_t character;
        fm_status status = read_escaped_character(scan, &character);
        if (status) return status;
        size_t length = fm_utf8_encode(character, bytes);
        return json_put(scan, sink, bytes, length);
    }
    const char *found = byte > 0 ? strchr(from, byte) : NULL;
    if (!found) return refuse_byte(scan, "an escape such as \\n or \\u0041");
    scan->at++;
    return json_put(scan, sink, &to[found - from], 1);
}

/* A character beyond ASCII, checked. */
static fm_status read_utf8(fm_json_scan *scan, text_sink *sink)
{
    unsigned char bytes[4];
    uint32_t character;
    for (size_t length = 0; length < 4;) {
        int byte = json_look(scan);
        if (byte == END) break;
        bytes[length++] = (unsigned char)byte;
        scan->at++;
        if (fm_utf8_decode(bytes, length, &character) == length)
            return json_put(scan, sink, (const char *)bytes, length);
    }
    return fm_json_refuse(scan, "expected text in UTF-8, found bytes that are not");
}

static fm_status read_string(fm_json_scan *scan, text_sink *sink)
{
    if (look_past_blanks(scan) != '"') return refuse_byte(scan, "a string");
    scan->at++;
    for (;;) {
        int byte = json_look(scan);
        fm_status status = FM_OK;
        if (byte < 0x20) /* or END */
            return refuse_byte(scan, "the end of a string");
        if (byte >= 0x80) {
            status = read_utf8(scan, sink);
        } else {
            scan->at++;
            if (byte == '"') return FM_OK;
            char plain = (char)byte;
            status = byte == '\\' ? read_escape(scan, sink) : json_put(scan, sink, &plain, 1);
        }
        if (status) return status;
    }
}

fm_status fm_json_key(fm_json_scan *scan, char *name, size_t size)
{
    text_sink sink = {.text = name, .capacity = size};
    fm_status status = read_string(scan, &sink);
    if (status) return status;
    name[sink.length] = '\0';
    if (look_past_blanks(scan) != ':') return refuse_byte(scan, "a colon");
    scan->at++;
    return FM_OK;
}

fm_status fm_json_field(fm_json_scan *scan, fm_json_list *list, char *name, size_t size, bool *more)
{
    fm_status status = fm_json_more(scan, list, more);
    return status || !*more ? status : fm_json_key(scan, name, size);
}

fm_status fm_json_read_elements(fm_json_scan *scan, const char *what, fm_json_take_element take,
                                void *context)
{
    fm_json_list list;
    bool more = true;
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status && !(status = fm_json_more(scan, &list, &more)) && more)
        status = take(scan, what, context);
    return status;
}

/* ---- values ---- */

static fm_status expect_kind(fm_json_scan *scan, const char *what, fm_json_kind wanted,
                             const char *wanted_name)
{
    fm_json_kind kind = FM_JSON_NULL;
    fm_status status = fm_json_peek(scan, &kind);
    if (status || kind == wanted) return status;
    return fm_json_refuse(scan, "%s: expected %s, found %s", what, wanted_name, fm_json_kind_name(kind));
}

fm_status fm_json_enter_object(fm_json_scan *scan, const char *what, fm_json_list *list)
{
    fm_status status = expect_kind(scan, what, FM_JSON_OBJECT, "an object");
    return status ? status : fm_json_enter(scan, list);
}

fm_status fm_json_enter_array(fm_json_scan *scan, const char *what, fm_json_list *list)
{
    fm_status status = expect_kind(scan, what, FM_JSON_ARRAY, "an array");
    return status ? status : fm_json_enter(scan, list);
}

fm_status fm_json_text(fm_json_scan *scan, const char *what, char **text)
{
    fm_status status = expect_kind(scan, what, FM_JSON_STRING, "a string");
    if (status) return status;
    text_sink sink = {.grows = true};
    status = json_put(scan, &sink, "", 0); /* so that an empty text is one */
    if (!status) status = read_string(scan, &sink);
    if (status) {
        free(sink.text);
        return status;
    }
    sink.text[sink.length] = '\0';
    free(*text);
    *text = sink.text;
    return FM_OK;
}

fm_status fm_json_optional_text(fm_json_scan *scan, const char *what, char **text)
{
    fm_json_kind kind = FM_JSON_NULL;
    fm_status status = fm_json_peek(scan, &kind);
    if (status) return status;
    return kind == FM_JSON_NULL ? fm_json_skip(scan) : fm_json_text(scan, what, text);
}

/* The longest number worth keeping: what is longer is not one that we hold. */
typedef struct number {
    char text[32];
    size_t length;
    bool whole, negative;
} number;

static void json_keep(number *found, int byte)
{
    if (found->length + 1 < sizeof found->text) found->text[found->length++] = (char)byte;
}

static void read_digits(fm_json_scan *scan, number *found, size_t *digits)
{
    int byte;
    for (*digits = 0; (byte = json_look(scan)) >= '0' && byte <= '9'; (*digits)++) {
        json_keep(found, byte);
        scan->at++;
    }
}

static fm_status read_number(fm_json_scan *scan, number *found)
{
    *found = (number){.whole = true};
    size_t digits;
    if (look_past_blanks(scan) == '-') {
        found->negative = true;
        scan->at++;
    }
    bool zero = json_look(scan) == '0';
    read_digits(scan, found, &digits);
    if (digits == 0) return refuse_byte(scan, "a digit");
    if (zero && digits > 1) return fm_json_refuse(scan, "expected a number, found one with a leading 0");
    if (json_look(scan) == '.') {
        json_keep(found, '.');
        scan->at++;
        found->whole = false;
        read_digits(scan, found, &digits);
        if (digits == 0) return refuse_byte(scan, "a digit after the decimal point");
    }
    int byte = json_look(scan);
    if (byte != 'e' && byte != 'E') return FM_OK;
    json_keep(found, 'e');
    scan->at++;
    found->whole = false;
    byte = json_look(scan);
    if (byte == '+' || byte == '-') {
        json_keep(found, byte);
        scan->at++;
    }
    read_digits(scan, found, &digits);
    return digits ? FM_OK : refuse_byte(scan, "a digit of the exponent");
}

/* The usual case, for files with millions of numbers: a few digits that stand in the buffer as a whole, and
 * behind them neither a fraction nor an exponent. Takes nothing where it is another one. */
static bool read_short_number(fm_json_scan *scan, uint64_t *value)
{
    enum { MOST_DIGITS = 18 };
    if (look_past_blanks(scan) == END || scan->filled - scan->at <= MOST_DIGITS) return false;
    const unsigned char *digits = scan->buffer + scan->at;
    uint64_t sum = 0;
    size_t count = 0;
    while (count < MOST_DIGITS && digits[count] >= '0' && digits[count] <= '9')
        sum = sum * 10 + (uint64_t)(digits[count++] - '0');
    if (count == 0 || (digits[count] != ',' && digits[count] != ']') || (digits[0] == '0' && count > 1))
        return false;
    scan->at += count;
    *value = sum;
    return true;
}

fm_status fm_json_whole(fm_json_scan *scan, const char *what, uint64_t *value)
{
    if (read_short_number(scan, value)) return FM_OK;
    fm_status status = expect_kind(scan, what, FM_JSON_NUMBER, "a whole number");
    if (status) return status;
    number found;
    status = read_number(scan, &found);
    if (status) return status;
    if (!found.whole) return fm_json_refuse(scan, "%s: expected a whole number, found a fraction", what);
    if (found.negative)
        return fm_json_refuse(scan, "%s: expected a number from 0 on, found -%s", what, found.text);
    uint64_t sum = 0;
    for (size_t i = 0; i < found.length; i++)
        if (__builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(found.text[i] - '0'), &sum))
            return fm_json_refuse(scan, "%s: expected a number below 2^64, found %s%s", what, found.text,
                                  found.length + 1 == sizeof found.text ? "..." : "");
    *value = sum;
    return FM_OK;
}

fm_status fm_json_index(fm_json_scan *scan, const char *what, uint32_t *value)
{
    uint64_t found = 0;
    if (look_past_blanks(scan) == 'n') {
        fm_status status = expect_kind(scan, what, FM_JSON_NULL, "a whole number or null");
        *value = UINT32_MAX;
        return status ? status : fm_json_skip(scan);
    }
    fm_status status = fm_json_whole(scan, what, &found);
    if (status) return status;
    if (found >= UINT32_MAX)
        return fm_json_refuse(scan, "%s: expected a number below 2^32 - 1 or null, found %" PRIu64, what,
                              found);
    *value = (uint32_t)found;
    return FM_OK;
}

fm_status fm_json_real(fm_json_scan *scan, const char *what, double *value)
{
    fm_status status = expect_kind(scan, what, FM_JSON_NUMBER, "a number");
    if (status) return status;
    number found;
    status = read_number(scan, &found);
    if (status) return status;
    if (found.length + 1 == sizeof found.text)
        return fm_json_refuse(scan, "%s: expected at most %zu characters, found more", what,
                              sizeof found.text - 2);
    /* strtod wants the decimal point of the caller's locale. */
    char text[sizeof found.text + 16];
    const char *point = strchr(found.text, '.');
    if (point)
        snprintf(text, sizeof text, "%.*s%.15s%s", (int)(point - found.text), found.text,
                 localeconv()->decimal_point, point + 1);
    else
        memcpy(text, found.text, sizeof found.text);
    double made = strtod(text, NULL);
    *value = found.negative ? -made : made;
    return FM_OK;
}

static fm_status read_word(fm_json_scan *scan, const char *word)
{
    for (const char *at = word; *at; at++) {
        if (json_look(scan) != *at) return refuse_byte(scan, word);
        scan->at++;
    }
    return FM_OK;
}

fm_status fm_json_truth(fm_json_scan *scan, const char *what, bool *value)
{
    fm_status status = expect_kind(scan, what, FM_JSON_TRUTH, "true or false");
    if (status) return status;
    *value = json_look(scan) == 't';
    return read_word(scan, *value ? "true" : "false");
}

static fm_status skip_plain(fm_json_scan *scan, fm_json_kind kind)
{
    text_sink nowhere = {0};
    number ignored;
    bool truth;
    if (kind == FM_JSON_STRING) return read_string(scan, &nowhere);
    if (kind == FM_JSON_NUMBER) return read_number(scan, &ignored);
    if (kind == FM_JSON_TRUTH) return fm_json_truth(scan, "a value", &truth);
    return read_word(scan, "null");
}

fm_status fm_json_skip(fm_json_scan *scan)
{
    /* Our own stack of open brackets, so that a hostile file cannot use up the program's. */
    fm_json_list open[FM_JSON_DEEPEST];
    size_t depth = 0;
    do {
        bool more = true;
        fm_status status = depth ? fm_json_more(scan, &open[depth - 1], &more) : FM_OK;
        if (status) return status;
        if (!more) {
            depth--;
            continue;
        }
        char name[4];
        if (depth && open[depth - 1].close == '}') status = fm_json_key(scan, name, sizeof name);
        fm_json_kind kind = FM_JSON_NULL;
        if (!status) status = fm_json_peek(scan, &kind);
        if (status) return status;
        if (kind != FM_JSON_OBJECT && kind != FM_JSON_ARRAY)
            status = skip_plain(scan, kind);
        else if (depth == FM_JSON_DEEPEST)
            status = fm_json_refuse(scan, "expected at most %d nested brackets, found more", FM_JSON_DEEPEST);
        else
            status = fm_json_enter(scan, &open[depth++]);
        if (status) return status;
    } while (depth);
    return FM_OK;
}

fm_status fm_json_end(fm_json_scan *scan)
{
    if (look_past_blanks(scan) != END) return refuse_byte(scan, "the end of the file");
    return scan->failure;
}
