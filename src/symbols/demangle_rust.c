/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle_rust.c - see symbol_file.h. A descent through the grammar of RFC 2603 ("Rust Symbol Mangling
 * v0"); functions have the names of its rules. References back to what was read before are followed by
 * reading it again: the room for the text bounds how often.
 */
#include "symbols/symbol_file.h"

#include "base/plain_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 128, MOST_STEPS = 1 << 16, LONGEST_WORD = 256 };

typedef struct rust_name {
    const char *name; /* behind "_R" */
    size_t at, end;
    char *text;
    size_t length, size;
    unsigned depth, steps;
    uint64_t lifetimes; /* bound around here */
    bool silent;        /* read, but not written */
    bool failed;
} rust_name;

/* ---- letters and numbers ---- */

static char next_letter(rust_name *self)
{
    if (self->at < self->end) return self->name[self->at++];
    self->failed = true;
    return '\0';
}

static bool take_letter(rust_name *self, char letter)
{
    if (self->failed || self->at >= self->end || self->name[self->at] != letter) return false;
    self->at++;
    return true;
}

static void put_bytes(rust_name *self, const char *bytes, size_t count)
{
    if (self->silent || self->failed) return;
    if (count >= self->size - self->length) {
        self->failed = true;
        return;
    }
    memcpy(self->text + self->length, bytes, count);
    self->length += count;
}

static void put_text(rust_name *self, const char *text)
{
    put_bytes(self, text, strlen(text));
}

static void put_number(rust_name *self, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    put_text(self, digits);
}

/* "_" is 0, "0_" 1, …, "Z_" 62, "10_" 63. */
static uint64_t read_base_62(rust_name *self)
{
    uint64_t value = 0;
    if (take_letter(self, '_')) return 0;
    while (!self->failed) {
        const char letter = next_letter(self);
        if (letter == '_') break;
        const int digit = isdigit((unsigned char)letter)   ? letter - '0'
                          : islower((unsigned char)letter) ? letter - 'a' + 10
                          : isupper((unsigned char)letter) ? letter - 'A' + 36
                                                           : -1;
        if (digit < 0 || value > (UINT64_MAX - 64) / 62) self->failed = true;
        value = value * 62 + (unsigned)(digit < 0 ? 0 : digit);
    }
    return value + 1;
}

/* A number behind a letter that need not be there: then 0, else one more. */
static uint64_t read_optional(rust_name *self, char letter)
{
    return take_letter(self, letter) ? read_base_62(self) + 1 : 0;
}

/* ---- words ---- */

typedef struct rust_word {
    const char *bytes;
    size_t count;
    bool encoded; /* by Punycode */
} rust_word;

static rust_word read_word(rust_name *self)
{
    rust_word word = {.encoded = take_letter(self, 'u')};
    size_t count = 0;
    if (self->at >= self->end || !isdigit((unsigned char)self->name[self->at])) self->failed = true;
    if (!take_letter(self, '0'))
        while (!self->failed && self->at < self->end && isdigit((unsigned char)self->name[self->at])) {
            count = count * 10 + (size_t)(self->name[self->at++] - '0');
            if (count > self->end) self->failed = true;
        }
    (void)take_letter(self, '_');
    if (self->failed || count > self->end - self->at) {
        self->failed = true;
        return word;
    }
    word.bytes = self->name + self->at;
    word.count = count;
    self->at += count;
    return word;
}

/* RFC 3492, with "_" for "-". Returns how many characters; 0: it is none. */
static size_t decode_word(const rust_word *word, uint32_t characters[LONGEST_WORD])
{
    size_t count = 0, at = 0, plain = word->count;
    while (plain > 0 && word->bytes[plain - 1] != '_') plain--;
    if (word->count > LONGEST_WORD) return 0;
    for (; at + 1 < plain; at++) characters[count++] = (unsigned char)word->bytes[at];
    at = plain;
    uint32_t character = 128, bias = 72, place = 0, damp = 700;
    while (at < word->count) {
        uint32_t before = place, weight = 1;
        for (uint32_t k = 36;; k += 36) {
            if (at == word->count) return 0;
            const char letter = word->bytes[at++];
            const int digit = islower((unsigned char)letter)   ? letter - 'a'
                              : isdigit((unsigned char)letter) ? letter - '0' + 26
                                                               : -1;
            if (digit < 0 || weight > UINT32_MAX / 36 || place > UINT32_MAX / 2) return 0;
            place += (uint32_t)digit * weight;
            const uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
            if ((uint32_t)digit < least) break;
            weight *= 36 - least;
        }
        if (++count > LONGEST_WORD) return 0;
        uint32_t delta = (place - before) / damp, steps = 0;
        damp = 2;
        delta += delta / (uint32_t)count;
        for (; delta > 455; delta /= 35) steps += 36;
        bias = steps + 36 * delta / (delta + 38);
        character += place / (uint32_t)count;
        place %= (uint32_t)count;
        if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) return 0;
        memmove(characters + place + 1, characters + place, (count - 1 - place) * sizeof *characters);
        characters[place++] = character;
    }
    return count;
}

static void put_character(rust_name *self, uint32_t character)
{
    char bytes[4];
    put_bytes(self, bytes, fm_utf8_encode(character, bytes));
}

static void put_word(rust_name *self, const rust_word *word)
{
    uint32_t characters[LONGEST_WORD];
    if (self->failed || self->silent) return;
    if (!word->encoded) {
        put_bytes(self, word->bytes, word->count);
        return;
    }
    const size_t count = decode_word(word, characters);
    if (count == 0) self->failed = true;
    for (size_t i = 0; i < count; i++) put_character(self, characters[i]);
}

/* ---- what is nested ---- */

static bool go_down(rust_name *self)
{
    if (self->depth >= DEEPEST || self->steps >= MOST_STEPS) self->failed = true;
    if (self->failed) return false;
    self->depth++;
    self->steps++;
    return true;
}

static void read_path(rust_name *self, bool as_value);
static bool read_open_path(rust_name *self);
static void read_type(rust_name *self);
static void read_const(rust_name *self);

/* Reads again what stands before; the reader comes back to where it was. */
static size_t enter_reference(rust_name *self)
{
    const size_t from = self->at - 1;
    const uint64_t to = read_base_62(self);
    const size_t back = self->at;
    if (to >= from) self->failed = true;
    if (!self->failed) self->at = (size_t)to;
    return back;
}

static void put_lifetime(rust_name *self, uint64_t index)
{
    if (index == 0) {
        put_text(self, "'_");
        return;
    }
    if (index > self->lifetimes) {
        self->failed = true;
        return;
    }
    const uint64_t depth = self->lifetimes - index;
    put_text(self, "'");
    if (depth < 26) {
        put_bytes(self, &"abcdefghijklmnopqrstuvwxyz"[depth], 1);
    } else {
        put_text(self, "_");
        put_number(self, depth);
    }
}

/* "for<'a, 'b> "; returns how many lifetimes it binds. */
static uint64_t read_binder(rust_name *self)
{
    const uint64_t bound = read_optional(self, 'G');
    if (bound > 64) self->failed = true;
    if (bound == 0 || self->failed) return 0;
    put_text(self, "for<");
    for (uint64_t i = 0; i < bound; i++) {
        if (i > 0) put_text(self, ", ");
        self->lifetimes++;
        put_lifetime(self, 1);
    }
    put_text(self, "> ");
    return bound;
}

static void read_generic_arguments(rust_name *self)
{
    for (size_t i = 0; !self->failed && !take_letter(self, 'E'); i++) {
        if (i > 0) put_text(self, ", ");
        if (take_letter(self, 'L'))
            put_lifetime(self, read_base_62(self));
        else if (take_letter(self, 'K'))
            read_const(self);
        else
            read_type(self);
    }
}

/* The path of an impl is of no interest: its type and trait say it. */
static void skip_impl_path(rust_name *self)
{
    const bool silent = self->silent;
    (void)read_optional(self, 's');
    self->silent = true;
    read_path(self, false);
    self->silent = silent;
}

static void read_nested_name(rust_name *self, bool as_value)
{
    const char space = next_letter(self);
    if (!isalpha((unsigned char)space)) self->failed = true;
    read_path(self, as_value);
    const uint64_t number = read_optional(self, 's');
    const rust_word word = read_word(self);
    if (isupper((unsigned char)space)) {
        put_text(self, "::{");
        if (space == 'C')
            put_text(self, "closure");
        else if (space == 'S')
            put_text(self, "shim");
        else
            put_bytes(self, &space, 1);
        if (word.count > 0) put_text(self, ":");
        put_word(self, &word);
        put_text(self, "#");
        put_number(self, number);
        put_text(self, "}");
    } else if (word.count > 0) {
        put_text(self, "::");
        put_word(self, &word);
    }
}

static void read_path(rust_name *self, bool as_value)
{
    if (!go_down(self)) return;
    const char kind = next_letter(self);
    rust_word word;
    size_t back;
    switch (kind) {
    case 'C':
        (void)read_optional(self, 's');
        word = read_word(self);
        put_word(self, &word);
        break;
    case 'N':
        read_nested_name(self, as_value);
        break;
    case 'M':
    case 'X':
        skip_impl_path(self); /* fall through */
    case 'Y':
        put_text(self, "<");
        read_type(self);
        if (kind != 'M') {
            put_text(self, " as ");
            read_path(self, false);
        }
        put_text(self, ">");
        break;
    case 'I':
        read_path(self, as_value);
        put_text(self, as_value ? "::<" : "<");
        read_generic_arguments(self);
        put_text(self, ">");
        break;
    case 'B':
        back = enter_reference(self);
        if (!self->silent) read_path(self, as_value);
        self->at = back;
        break;
    default:
        self->failed = true;
    }
    self->depth--;
}

/* As a path, but what is between brackets may go on; whether it does. */
static bool read_open_path(rust_name *self)
{
    bool open = false;
    if (!go_down(self)) return false;
    if (take_letter(self, 'B')) {
        const size_t back = enter_reference(self);
        if (!self->silent) open = read_open_path(self);
        self->at = back;
    } else if (take_letter(self, 'I')) {
        read_path(self, false);
        put_text(self, "<");
        read_generic_arguments(self);
        open = true;
    } else {
        read_path(self, false);
    }
    self->depth--;
    return open;
}

/* ---- types ---- */

static const char *basic_type(char letter)
{
    static const char *const names[26] = {
        "i8",   "bool", "char", "f64", "str", "f32", NULL,  "u8", "isize", "usize", NULL,  "i32", "u32",
        "i128", "u128", "_",    NULL,  NULL,  "i16", "u16", "()", "...",   NULL,    "i64", "u64", "!"};
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

static void read_function_type(rust_name *self)
{
    const uint64_t bound = read_binder(self);
    if (take_letter(self, 'U')) put_text(self, "unsafe ");
    if (take_letter(self, 'K')) {
        put_text(self, "extern \"");
        if (take_letter(self, 'C')) {
            put_text(self, "C");
        } else {
            const rust_word word = read_word(self);
            for (size_t i = 0; i < word.count; i++)
                put_bytes(self, word.bytes[i] == '_' ? "-" : word.bytes + i, 1);
        }
        put_text(self, "\" ");
    }
    put_text(self, "fn(");
    for (size_t i = 0; !self->failed && !take_letter(self, 'E'); i++) {
        if (i > 0) put_text(self, ", ");
        read_type(self);
    }
    put_text(self, ")");
    if (!take_letter(self, 'u')) {
        put_text(self, " -> ");
        read_type(self);
    }
    self->lifetimes -= bound;
}

static void read_dynamic_type(rust_name *self)
{
    put_text(self, "dyn ");
    const uint64_t bound = read_binder(self);
    for (size_t i = 0; !self->failed && !take_letter(self, 'E'); i++) {
        if (i > 0) put_text(self, " + ");
        bool open = read_open_path(self);
        while (take_letter(self, 'p')) {
            put_text(self, open ? ", " : "<");
            open = true;
            const rust_word word = read_word(self);
            put_word(self, &word);
            put_text(self, " = ");
            read_type(self);
        }
        if (open) put_text(self, ">");
    }
    self->lifetimes -= bound;
    if (!take_letter(self, 'L')) self->failed = true;
    const uint64_t lifetime = read_base_62(self);
    if (lifetime == 0) return;
    put_text(self, " + ");
    put_lifetime(self, lifetime);
}

static void read_reference_type(rust_name *self, char kind)
{
    put_text(self, "&");
    if (take_letter(self, 'L')) {
        const uint64_t lifetime = read_base_62(self);
        if (lifetime) put_lifetime(self, lifetime);
        if (lifetime) put_text(self, " ");
    }
    if (kind == 'Q') put_text(self, "mut ");
    read_type(self);
}

static void read_tuple_type(rust_name *self)
{
    size_t count = 0;
    put_text(self, "(");
    for (; !self->failed && !take_letter(self, 'E'); count++) {
        if (count > 0) put_text(self, ", ");
        read_type(self);
    }
    put_text(self, count == 1 ? ",)" : ")");
}

static void read_type(rust_name *self)
{
    if (!go_down(self)) return;
    const char kind = next_letter(self);
    const char *basic = basic_type(kind);
    size_t back;
    if (basic) {
        put_text(self, basic);
        self->depth--;
        return;
    }
    switch (kind) {
    case 'R':
    case 'Q':
        read_reference_type(self, kind);
        break;
    case 'P':
    case 'O':
        put_text(self, kind == 'P' ? "*const " : "*mut ");
        read_type(self);
        break;
    case 'A':
    case 'S':
        put_text(self, "[");
        read_type(self);
        if (kind == 'A') {
            put_text(self, "; ");
            read_const(self);
        }
        put_text(self, "]");
        break;
    case 'T':
        read_tuple_type(self);
        break;
    case 'F':
        read_function_type(self);
        break;
    case 'D':
        read_dynamic_type(self);
        break;
    case 'B':
        back = enter_reference(self);
        if (!self->silent) read_type(self);
        self->at = back;
        break;
    default:
        self->at--; /* a path */
        read_path(self, false);
    }
    self->depth--;
}

/* ---- constants ---- */

/* Hexadecimal digits up to "_"; false: they are more than 64 bits. */
static bool read_hexadecimal(rust_name *self, uint64_t *value, size_t *first, size_t *count)
{
    *value = 0;
    *first = self->at;
    for (*count = 0; !self->failed && !take_letter(self, '_'); ++*count) {
        const char letter = next_letter(self);
        if (!isxdigit((unsigned char)letter) || isupper((unsigned char)letter)) self->failed = true;
        *value = *value << 4 | (uint64_t)(isdigit((unsigned char)letter) ? letter - '0' : letter - 'a' + 10);
    }
    return *count <= 16;
}

static void put_quoted(rust_name *self, uint32_t character)
{
    char code[16];
    put_text(self, "'");
    if (character == '\'' || character == '\\') put_text(self, "\\");
    if (character >= ' ' && character != 127 && character < 0xD800) {
        put_character(self, character);
    } else {
        snprintf(code, sizeof code, "\\u{%" PRIx32 "}", character);
        put_text(self, code);
    }
    put_text(self, "'");
}

static void read_const(rust_name *self)
{
    if (!go_down(self)) return;
    const char type = next_letter(self);
    uint64_t value;
    size_t first, count;
    if (type == 'B') {
        const size_t back = enter_reference(self);
        if (!self->silent) read_const(self);
        self->at = back;
    } else if (type == 'p') {
        put_text(self, "_");
    } else if (type == 'b' || type == 'c') {
        if (!read_hexadecimal(self, &value, &first, &count) || value > (type == 'b' ? 1 : 0x10FFFF))
            self->failed = true;
        if (type == 'c')
            put_quoted(self, (uint32_t)value);
        else
            put_text(self, value ? "true" : "false");
    } else if (type != '\0' && strchr("aslxnihtmyoj", type)) {
        if (take_letter(self, 'n')) put_text(self, "-");
        if (read_hexadecimal(self, &value, &first, &count)) {
            put_number(self, value);
        } else {
            put_text(self, "0x");
            put_bytes(self, self->name + first, count);
        }
    } else {
        self->failed = true; /* of a kind that came later */
    }
    self->depth--;
}

/* ---- whole names ---- */

bool fm_demangle_rust(const char *name, char *text, size_t size)
{
    if (strncmp(name, "_R", 2) != 0 || size == 0) return false;
    /* Behind a dot or a dollar: what compilers append. */
    rust_name self = {.name = name + 2, .end = strcspn(name + 2, ".$"), .text = text, .size = size};
    if (self.end == 0 || !isupper((unsigned char)self.name[0])) return false;
    read_path(&self, true);
    if (!self.failed && self.at < self.end) { /* the crate that made this instance of it */
        self.silent = true;
        read_path(&self, false);
    }
    if (self.failed || self.at != self.end || self.length == 0) return false;
    text[self.length] = '\0';
    return true;
}

/* "$LT$" and others; returns how many letters, 0: it is none. */
static size_t read_sign(const char *text, char sign[5])
{
    static const char *const signs[][2] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
                                           {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strncmp(text, signs[i][0], strlen(signs[i][0])) == 0) {
            memcpy(sign, signs[i][1], 2);
            return strlen(signs[i][0]);
        }
    uint32_t character;
    int length = 0;
    if (sscanf(text, "$u%6" SCNx32 "$%n", &character, &length) != 1 || length == 0 || character < ' ' ||
        character > 0x10FFFF)
        return 0;
    sign[fm_utf8_encode(character, sign)] = '\0';
    return strlen(sign) <= (size_t)length ? (size_t)length : 0;
}

void fm_demangle_rust_tidy(char *text)
{
    enum { CHECKSUM = 19 }; /* "::h" and 16 digits */
    const size_t length = strlen(text);
    if (length <= CHECKSUM) return;
    const char *checksum = text + length - CHECKSUM;
    if (strncmp(checksum, "::h", 3) != 0 || strspn(checksum + 3, "0123456789abcdef") != 16) return;
    text[length - CHECKSUM] = '\0';
    char *to = text;
    bool starts = true; /* a word */
    for (const char *from = text; *from;) {
        char sign[5];
        size_t taken;
        if (starts && from[0] == '_' && from[1] == '$') from++;
        starts = false;
        if (from[0] == '$' && (taken = read_sign(from, sign)) > 0) {
            const size_t count = strlen(sign);
            memcpy(to, sign, count);
            to += count;
            from += taken;
        } else if (from[0] == '.' && from[1] == '.') {
            *to++ = ':';
            *to++ = ':';
            from += 2;
        } else {
            starts = from[0] == ':' && from[1] != ':';
            *to++ = *from++;
        }
    }
    *to = '\0';
}
