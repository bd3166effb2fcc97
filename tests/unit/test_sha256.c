/* SPDX-License-Identifier: Apache-2.0 */
/* test_sha256.c - SHA-256 against the vectors of NIST (FIPS 180-4 examples, and those of the CAVP for bytes),
 * and pieces against the whole for every length around the ends of blocks. */
#include "case.h"

#include <string.h>

#include "base/bytes.h"

CASE(vectors_of_nist)
{
    static const struct {
        const char *message, *sum;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmno"
         "pqrstnopq"
         "rstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
    };
    char sum[FM_SHA256_TEXT];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        fm_sha256_text(vectors[i].message, strlen(vectors[i].message), sum);
        assert_string_equal(sum, vectors[i].sum);
    }
}

CASE(a_million_letters)
{
    fm_sha256 sum;
    char piece[1000], text[FM_SHA256_TEXT];
    memset(piece, 'a', sizeof piece);
    fm_sha256_begin(&sum);
    for (int i = 0; i < 1000; i++) fm_sha256_add(&sum, piece, sizeof piece);
    fm_sha256_end(&sum, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

CASE(pieces_are_the_whole)
{
    unsigned char bytes[200];
    char whole[FM_SHA256_TEXT], pieces[FM_SHA256_TEXT], before[FM_SHA256_TEXT] = "";
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7 + 3);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        fm_sha256_text(bytes, length, whole);
        assert_string_not_equal(whole, before);
        memcpy(before, whole, sizeof before);
        for (size_t cut = 0; cut <= length; cut += 13) {
            fm_sha256 sum;
            fm_sha256_begin(&sum);
            fm_sha256_add(&sum, bytes, cut);
            fm_sha256_add(&sum, bytes + cut, length - cut);
            fm_sha256_end(&sum, pieces);
            assert_string_equal(pieces, whole);
        }
    }
}
