/* SPDX-License-Identifier: Apache-2.0 */
/* test_visible.c - text from outside as it is shown: every character of Unicode, and bytes that are none. */
#include "case.h"

#include <fathom/view.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/plain_text.h"

static size_t encode(uint32_t character, char *text)
{
    unsigned char *bytes = (unsigned char *)text;
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (length == 1) bytes[0] = (unsigned char)character;
    for (size_t i = length; i-- > 1; character >>= 6) bytes[i] = (unsigned char)(0x80 | (character & 0x3F));
    if (length > 1) bytes[0] = (unsigned char)((0xF00u >> length & 0xFFu) | character);
    bytes[length] = 0;
    return length;
}

/* Those that Unicode calls Bidi_Control (PropList.txt), and others that are not seen. */
CASE(what_is_not_seen_is_shown_by_number)
{
    static const uint32_t unseen[] = {0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D,  0x202E, 0x2066,
                                      0x2067, 0x2068, 0x2069, 0x200B, 0x200D, 0x2028, 0x2029,  0xFEFF, 0x00AD,
                                      0x2060, 0x206F, 0x0085, 0x009B, 0x3164, 0xFFF9, 0xE0001, 0xE007F};
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        char text[16], wanted[16], json[32], *written = NULL;
        size_t length = encode(unseen[i], text), size = 0;
        snprintf(wanted, sizeof wanted, "<U+%04X>", (unsigned)unseen[i]);
        for (int unicode = 0; unicode < 2; unicode++) {
            fm_visible next = fm_visible_next(text, length, unicode);
            assert_string_equal(next.shown, wanted);
            assert_int_equal(next.length, length);
            assert_false(next.plain);
        }
        /* On a page too. */
        FILE *out = open_memstream(&written, &size);
        fm_json_write_string(out, text, FM_JSON_IN_HTML);
        fclose(out);
        snprintf(json, sizeof json, "\"\\u003cU+%04X\\u003e\"", (unsigned)unseen[i]);
        assert_string_equal(written, json);
        free(written);
    }
}

/* Of everything there is, what is shown holds nothing that is not seen, and at most four characters a byte.
 */
CASE(nothing_unseen_is_left)
{
    for (uint32_t character = 1; character <= 0x10FFFF; character++) {
        if (character >= 0xD800 && character <= 0xDFFF) continue;
        char text[8], shown[64];
        size_t length = encode(character, text);
        fm_visible_text(text, false, shown, 4 * length + 1);
        assert_true(strlen(shown) > 0 && strlen(shown) <= 4 * length);
        for (size_t at = 0, all = strlen(shown); at < all;) {
            uint32_t found;
            size_t taken = fm_utf8_decode((const unsigned char *)shown + at, all - at, &found);
            assert_true(taken > 0 && fm_character_is_seen(found));
            at += taken;
        }
        if (character >= 0x20 && character < 0x7F) assert_string_equal(shown, text);
    }
    /* Words of many scripts are what they are. */
    static const char words[] = "naïve Ελλάς Привет שלום سلام 你好 हिन्दी 😀 a\xcc\x81";
    char same[sizeof words];
    assert_string_equal(fm_visible_text(words, false, same, sizeof same), words);
}

CASE(bytes_and_buffers)
{
    char buffer[64];
    assert_string_equal(fm_visible_text("a\xff\xe2\x80z\x1b[0m\x7f", false, buffer, sizeof buffer),
                        "a\\xff\\xe2\\x80z\\x1b[0m\\x7f");
    assert_string_equal(fm_visible_text("a\n\tb\r", false, buffer, sizeof buffer), "a\\x0a\\x09b\\x0d");
    assert_string_equal(fm_visible_text("a\n\tb\r", true, buffer, sizeof buffer), "a\n\tb\\x0d");
    /* Cut where the buffer is full, never within what one character became. */
    assert_string_equal(fm_visible_text("ab\xe2\x80\xae", false, buffer, 10), "ab");
    assert_string_equal(fm_visible_text("ab\xe2\x80\xae", false, buffer, 11), "ab<U+202E>");
    assert_string_equal(fm_visible_text("\xe2\x82\xac\xe2\x82\xac", false, buffer, 6), "\xe2\x82\xac");
    buffer[0] = 'x';
    fm_visible_text("a", false, buffer, 0);
    assert_int_equal(buffer[0], 'x');
}
