/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_formats.c - every foreign format: good lines, bad lines and what is said about them. */
#include "case.h"

#include "unit/trace_helpers.h"

#include <inttypes.h>

#define ASSERT_KEYS(all, ...)                                                                                \
    do {                                                                                                     \
        const uint64_t expected_[] = {__VA_ARGS__};                                                          \
        assert_int_equal((all).count, sizeof expected_ / sizeof expected_[0]);                               \
        assert_memory_equal((all).address, expected_, sizeof expected_);                                     \
    } while (0)

CASE(u64_good_and_cut)
{
    const uint8_t bytes[] = {1,   0,   0,   0,   0, 0, 0, 0, 255, 255, 255, 255,
                             255, 255, 255, 255, 8, 7, 6, 5, 4,   3,   2,   1};
    const char *path = in_directory("keys.u64");
    for (size_t length = 0; length <= sizeof bytes; length++) {
        write_file(path, bytes, length);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.opened, FM_OK);
        assert_int_equal(all.count, length / 8);
        assert_false(all.info.memory_addresses);
        assert_string_equal(all.info.format, "u64");
        if (all.count > 1) assert_int_equal(all.address[1], UINT64_MAX);
        if (all.count > 2) assert_int_equal(all.address[2], UINT64_C(0x0102030405060708));
        if (length % 8) {
            char expected[128];
            snprintf(expected, sizeof expected, "byte %zu: ends within a key: expected 8 bytes, found %zu",
                     length / 8 * 8, length % 8);
            assert_int_equal(all.status, FM_E_TRUNCATED);
            assert_string_equal(strstr(all.message, "byte"), expected);
        } else {
            assert_int_equal(all.status, FM_OK);
        }
        gathered_free(&all);
    }
}

/* Keys whose bytes look like the beginning of a gzip, zstd or skippable frame are keys all the same. */
CASE(u64_that_looks_compressed)
{
    const uint64_t firsts[] = {0x088B1F, 0x184D2A50, UINT64_C(0x10184D2A5F), 0xFD2FB528,
                               UINT64_C(0x00000408088B1F)};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        uint64_t keys[600];
        for (size_t k = 0; k < 600; k++) keys[k] = k * 977;
        keys[0] = firsts[i];
        const char *path = in_directory("looks.u64");
        write_file(path, keys, sizeof keys);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.status, FM_OK);
        assert_string_equal(all.info.compression, "none");
        assert_int_equal(all.count, 600);
        assert_memory_equal(all.address, keys, sizeof keys);
        gathered_free(&all);
    }
}

CASE(text_numbers)
{
    gathered all;
    gather_text(&all, "text",
                "0\n18446744073709551615\n  7 \t\r\n\n\r\n0x1f\n0XFFFFFFFFFFFFFFFF\n007\n42\r\n5", NULL);
    assert_int_equal(all.status, FM_OK);
    ASSERT_KEYS(all, 0, UINT64_MAX, 7, 0x1f, UINT64_MAX, 7, 42, 5);
    assert_int_equal(all.info.string_keys, 0);
    gathered_free(&all);
    gather_text(&all, "text", "", NULL);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, 0);
    gathered_free(&all);
}

/* Strings: equal ones have equal keys, different ones different keys; numbers beyond 64 bits are strings. */
CASE(text_strings)
{
    gathered all;
    gather_text(
        &all, "text",
        "alice\nbob\n alice\t\n18446744073709551616\n-1\n0x\n0x10000000000000000\n#no comment\nbob\r\n1 2\n",
        NULL);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, 10);
    assert_int_equal(all.address[0], all.address[2]);
    assert_int_equal(all.address[1], all.address[8]);
    assert_int_equal(all.info.string_keys, 8);
    assert_int_equal(all.info.string_collisions, 0);
    for (size_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < i; k++)
            if (!(k == 0 && i == 2) && !(k == 1 && i == 8))
                assert_int_not_equal(all.address[i], all.address[k]);
    gathered_free(&all);
}

/* Exactly 1 MiB is a line, one byte more is not; lines before it are delivered. */
CASE(text_long_lines)
{
    for (int over = 0; over <= 1; over++)
        for (int newline = 0; newline <= 1; newline++) {
            size_t length = (1U << 20) + (size_t)over;
            char *text = malloc(length + 4);
            assert_non_null(text);
            memcpy(text, "1\n", 2);
            memset(text + 2, 'x', length);
            text[length + 2] = newline ? '\n' : '\0';
            text[length + 3] = '\0';
            gathered all;
            gather_text(&all, "text", text, NULL);
            assert_int_equal(all.status, over ? FM_E_FORMAT : FM_OK);
            assert_int_equal(all.count, over ? 1 : 2);
            if (over)
                assert_message(&all, "line 2: longer than 1048576 bytes; is this really a text format?");
            gathered_free(&all);
            free(text);
        }
}

CASE(text_zero_byte)
{
    const char bytes[] = "1\n2\na\0b\n3\n";
    const char *path = in_directory("input");
    write_file(path, bytes, sizeof bytes - 1);
    fm_reader_options options = {.format = "text"};
    gathered all;
    gather(&all, path, &options);
    assert_int_equal(all.status, FM_E_FORMAT);
    ASSERT_KEYS(all, 1, 2);
    assert_message(&all, "line 3: expected a key, found a zero byte; is this a binary trace?");
    gathered_free(&all);
}

/* More lines than a batch and a window hold, with lines of every length across the window's edges. */
CASE(text_many_lines)
{
    size_t count = 300000, used = 0;
    char *text = malloc(count * 24);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, i % 7 == 3 ? "0x%zx\n" : "%zu\n", i * i * (i % 5 ? 1 : 1000003));
    gathered all;
    gather_text(&all, "text", text, NULL);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(all.address[i], i * i * (i % 5 ? 1 : 1000003));
    gathered_free(&all);
    free(text);
}

#define MARK "\xef\xbb\xbf"

/* Byte order marks at the beginning, and of files that were put together, are no part of a key. */
CASE(byte_order_marks)
{
    static const struct {
        const char *format, *text;
    } cases[] = {
        {"text", MARK MARK "10\n" MARK "20\n" MARK MARK "30\n"},
        {"text", MARK "10\r" MARK "20\r30\r"},
        {"csv", MARK MARK "key,x\n" MARK "10,1\n20,2\n" MARK "\"30\",2\n"},
        {"csv", "x,key\n" MARK "1,10\n" MARK "2,20\n3,30\n"},
        {"din", MARK MARK "0 a\n" MARK "1 14\n" MARK "0 1e\n"},
        {"lackey", MARK " L a,4\n" MARK " S 14,4\n" MARK "==1== a message\n" MARK " M 1e,4\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gathered all;
        gather_text(&all, cases[i].format, cases[i].text, NULL);
        if (all.status != FM_OK) fail_msg("%s: %s", cases[i].text, all.message);
        ASSERT_KEYS(all, 10, 20, 30);
        assert_int_equal(all.info.string_keys, 0);
        gathered_free(&all);
    }
    gathered all;
    gather_text(&all, "text", MARK "key\n" MARK "key\nkey\n", NULL);
    assert_int_equal(all.info.string_keys, 1);
    gathered_free(&all);
    gather_text(&all, "text",
                MARK "\xff\xfe"
                     "1",
                NULL);
    assert_int_equal(all.opened, FM_E_FORMAT);
    assert_non_null(
        strstr(all.message, "byte 3: expected UTF-8 or ASCII, found the byte order mark of UTF-16"));
}

/* Carriage returns that end lines, or nothing: in every format, where kernels read and where they do not. */
CASE(carriage_returns)
{
    static const struct {
        const char *format, *text;
        uint64_t wrong; /* the line that is refused; 0: read as 10 20 30 */
    } cases[] = {
        {"text", "10\r20\r30\r", 0},
        {"text", "10\r20\r\r30", 0},
        {"text", "\r\r10\r20\r30", 0},
        {"text", "10\r\n20\r\r\n\r\n30\r", 0},
        {"text", "10\n20\n \r30\n", 0},
        {"text", "10\n20\r30\n", 2},
        {"text", "10\r20\n30\r", 2},
        {"text", "10\n20\r30\r40\r", 2},
        {"csv", "key,x\r10,1\r20,\"a\rb\"\r30,3\r", 0},
        {"csv", "x,key\r\n1,10\r\n\"a\rb\",20\r\n3,30\r\n", 0},
        {"csv", "\"a\rb\",key\n1,10\n2,20\n3,30\n", 0},
        {"csv", "key,x\n10,1\r20,2\n30,3\n", 2},
        {"csv", "x,key\n1,10\na\r2,20\n3,30\n", 3},
        {"csv", "key,x\n10,1\n20,1\r\"30\",2\n40,4\n", 3},
        {"csv", "key,x\r10,1\r20,2\n30,3\r", 3},
        {"din", "0 a\r1 14\r0 1e\r", 0},
        {"din", "0 a comment\r1 14 other\r0 1e\r", 0},
        {"din", "0 a\n1 14\r0 1e\n", 2},
        {"din", "0 a\n1 14 comment\r0 1e\n", 2},
        {"din", "0 a\n1\r14\n", 2},
        {"lackey", "==1== a message\r L a,4\r S 14,4\r M 1e,4\r", 0},
        {"lackey", " L a,4\n S 14,4\r M 1e,4\n", 2},
        {"lackey", " L a,4\n==1== a message\r M 1e,4\n", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned threads = 0; threads <= 2; threads += 2) {
            gathered all;
            gather_text(&all, cases[i].format, cases[i].text, &(fm_reader_options){.threads = threads});
            if (cases[i].wrong) {
                char wanted[64];
                snprintf(wanted, sizeof wanted, "line %u: lines end in different ways",
                         (unsigned)cases[i].wrong);
                if (all.status != FM_E_FORMAT || !strstr(all.message, wanted))
                    fail_msg("%s: %s", cases[i].text, all.message);
            } else {
                if (all.status != FM_OK) fail_msg("%s: %s", cases[i].text, all.message);
                ASSERT_KEYS(all, 10, 20, 30);
            }
            gathered_free(&all);
        }
}

CASE(csv_columns)
{
    static const char table[] = "time,\"the offset\",size\n1,10,4\n2,0x20,8\r\n\n3,\"30\",0\n";
    gathered all;
    fm_reader_options options = {.csv_key = "the offset", .csv_size = "size"};
    gather_text(&all, "csv", table, &options);
    assert_int_equal(all.status, FM_OK);
    ASSERT_KEYS(all, 10, 0x20, 30);
    assert_int_equal(all.info.columns, FM_COLUMN_SIZE);
    assert_false(all.info.memory_addresses);
    assert_int_equal(all.size[0], 4);
    assert_int_equal(all.size[1], 8);
    assert_int_equal(all.size[2], 0);
    gathered_free(&all);
    options =
        (fm_reader_options){.csv_key = "2", .csv_size = "3", .csv_key_unit = 512, .csv_size_unit = 1024};
    gather_text(&all, "csv", table, &options);
    assert_int_equal(all.status, FM_OK);
    ASSERT_KEYS(all, 5120, 0x20 * 512, 30 * 512);
    assert_int_equal(all.size[1], 8192);
    gathered_free(&all);
    options = (fm_reader_options){0};
    gather_text(&all, "csv", table, &options); /* its name tells the key */
    ASSERT_KEYS(all, 10, 0x20, 30);
    assert_true(all.info.key_found);
    assert_int_equal(all.info.key_column, 2);
    gathered_free(&all);
    options.csv_key = "1";
    gather_text(&all, "csv", table, &options);
    ASSERT_KEYS(all, 1, 2, 3);
    assert_false(all.info.key_found);
    gathered_free(&all);
}

/* What is taken for the key where nobody says. 0: that is refused. */
CASE(csv_key_not_said)
{
    static const struct {
        const char *table;
        uint64_t column;
        bool found; /* by its name */
        const char *size;
        int header;
    } cases[] = {
        /* The names people use, with units, in any case, at any place. */
        {"version,time,op,size,lbn\n1,2,3,4,5\n", 5, true, NULL, 0},
        {"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n1,a,3,R,5,6,7\n", 5, true, NULL, 0},
        {"device_id,opcode,offset,length,timestamp\n1,R,3,4,5\n", 3, true, NULL, 0},
        {"timestamp;anonymized key;key size;value size;client id;operation;TTL\n1;2;3;4;5;get;7\n", 2, true,
         NULL, 0},
        {"time,obj_id,obj_size\n1,2,3\n", 2, true, NULL, 0},
        {"TIME,OBJ_ID\n1,2\n", 2, true, NULL, 0},
        {"time,ObjectId\n1,2\n", 2, true, NULL, 0},
        {"time\tByteOffset (KiB)\n1\t2\n", 2, true, NULL, 0},
        {"time,offset_in_bytes,bytes\n1,2,3\n", 2, true, NULL, 0},
        {"id,LBA\n1,2\n", 2, true, NULL, 0},
        {"time,id\n1,2\n", 2, true, NULL, 0},
        {"time,\"start sector\",sectors\n1,2,3\n", 2, true, NULL, 0},
        {"user,url\nann,x\nbob,y\n", 2, true, NULL,
         0},                              /* no number anywhere: the name tells that it is a header */
        {"time,key\n", 2, true, NULL, 0}, /* and nothing behind it */
        {"\n\r\n\ntime,key\n\n1,2\n", 2, true, NULL, 0},
        /* One column only, or one besides the size. */
        {"1\n2\n", 1, false, NULL, 0},
        {"words\n2\n", 1, false, NULL, 0},
        {"a\nb\n", 1, false, NULL, 0},
        {"1,2\n3,4\n", 1, false, "2", 0},
        {"1,2\n3,4\n", 2, false, "1", 0},
        {"bytes,what\n3,4\n", 2, false, "bytes", 0},
        /* Not plain. */
        {"1,2\n3,4\n", 0, false, NULL, 0},
        {"5,\n6,\n", 0, false, NULL, 0},
        {"a title\n1,2\n", 0, false, NULL, 0},
        {"time,op,size\n1,2,3\n", 0, false, NULL, 0},
        {"key,offset\n1,2\n", 0, false, NULL, 0},
        {"key1,key2\n1,2\n", 0, false, NULL, 0},
        {"key 1,key 2\n1,2\n", 0, false, NULL, 0},
        {"time,client_ip_address\n1,2\n", 0, false, NULL, 0},
        {"src_addr,dst_addr\n1,2\n", 0, false, NULL, 0},
        {"time,request_id\n1,2\n", 0, false, NULL, 0},
        {"time,key_size\n1,2\n", 0, false, NULL, 0},
        {"time,key\n1,2\n", 0, false, NULL, FM_CSV_HEADER_NO}, /* said to be no header */
        {"1,2,3\n4,5,6\n", 0, false, "2", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_reader_options options = {.csv_header = cases[i].header, .csv_size = cases[i].size};
        gathered all;
        gather_text(&all, "csv", cases[i].table, &options);
        if (cases[i].column == 0) {
            if (all.opened != FM_E_ARGUMENT) fail_msg("taken: %s", cases[i].table);
            assert_non_null(strstr(all.message, "which column is the key?"));
            assert_non_null(strstr(all.message, "csv_key="));
            continue;
        }
        if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
        assert_int_equal(all.info.key_column, cases[i].column);
        assert_int_equal(all.info.key_found, cases[i].found);
        gathered_free(&all);
    }
    /* A table of one column has one column to its end. */
    gathered all;
    gather_text(&all, "csv", "http://a/1\nhttp://b\nhttp://a/2,3\n", NULL);
    assert_int_equal(all.status, FM_E_FORMAT);
    assert_int_equal(all.count, 2);
    assert_non_null(strstr(all.message, "line 3: expected no more columns than in the first row, found 2"));
    gathered_free(&all);
    fm_reader_options first = {.csv_key = "1"};
    gather_text(&all, "csv", "1\n2,3\n", &first);
    ASSERT_KEYS(all, 1, 2);
    gathered_free(&all);
}

/* Addresses in sectors and sizes in bytes are not put together. */
CASE(csv_units_not_said)
{
    static const struct {
        const char *table;
        uint64_t key_unit, size_unit;
        const char *wanted; /* NULL: it is read */
    } cases[] = {
        {"lba,size\n1,512\n", 0, 0, "column 'lba' counts"},
        {"lba,size\n1,512\n", 0, 1, "csv_key_unit (512"},
        {"lba,size\n1,512\n", 512, 0, NULL},
        {"lba,size\n1,512\n", 1, 0, NULL},
        {"start_sector,sectors\n1,512\n", 0, 0, "csv_key_unit and csv_size_unit (512"},
        {"start_sector,sectors\n1,512\n", 512, 0, "csv_size_unit (512"},
        {"start_sector,sectors\n1,512\n", 512, 512, NULL},
        {"offset,block_count\n1,512\n", 0, 0, "csv_size_unit (512"},
        {"offset,block_size\n1,512\n", 0, 0, NULL},
        {"offset (KiB),size\n1,512\n", 0, 0, "column 'offset (KiB)' counts"},
        {"offset,size\n1,512\n", 0, 0, NULL},
        {"block offset in bytes,bytes\n1,512\n", 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_reader_options options = {.csv_header = FM_CSV_HEADER_YES,
                                     .csv_key = "1",
                                     .csv_size = "2",
                                     .csv_key_unit = cases[i].key_unit,
                                     .csv_size_unit = cases[i].size_unit};
        gathered all;
        gather_text(&all, "csv", cases[i].table, &options);
        if (cases[i].wanted) {
            if (all.opened != FM_E_ARGUMENT) fail_msg("taken: %s", cases[i].table);
            assert_non_null(strstr(all.message, cases[i].wanted));
            continue;
        }
        if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
        assert_int_equal(all.count, 1);
        assert_false(all.info.key_unit_unknown);
        gathered_free(&all);
    }
    /* Numbers of blocks alone are keys. */
    gathered all;
    gather_text(&all, "csv", "lba,size\n1,512\n", NULL);
    ASSERT_KEYS(all, 1);
    assert_true(all.info.key_unit_unknown);
    gathered_free(&all);
}

/* An identity has no range: a size beside it is refused, unless it is said to be an address. */
CASE(csv_identities_with_sizes)
{
    static const struct {
        const char *table, *key;
        const char *wanted; /* NULL: it is read */
    } cases[] = {
        {"obj_id,obj_size\n1,2\n", NULL, "column 'obj_id' is an identity"},
        {"id,size\n1,2\n", "id", "column 'id' is an identity"},
        {"key,size\n1,2\n", "1", "column 'key' is an identity"},
        {"object,size\n1,2\n", NULL, "column 'object' is an identity"},
        {"ObjectHash,size\n1,2\n", NULL, "column 'ObjectHash' is an identity"},
        {"url,size\n1,2\n", NULL, "column 'url' is an identity"},
        {"content hash,size\n1,2\n", "1", "column 'content hash' is an identity"},
        {"block_hash,size\n1,2\n", "1", "column 'block_hash' is an identity"},
        {"request-id,size\n1,2\n", "1", "column 'request-id' is an identity"},
        {"offset,size\n18000000000000000000,2\n", NULL, NULL},
        {"Address,size\n1,2\n", NULL, NULL},
        {"byte offset,size\n1,2\n", NULL, NULL},
        {"position,size\n1,2\n", "1", NULL}, /* nobody knows */
        {"where,size\n9223372036854775808,2\n", "1", "9223372036854775808 in column 1 is no address"},
        {"where,size\n18446612682702848000,2\n", "1", NULL}, /* of a kernel */
        {"1,2\n5,2\n12345678901234567890,1\n", "1", "12345678901234567890 in column 1 is no address"},
        {"block_id,size\n1,2\n", "1", "counts sectors, blocks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_reader_options options = {.csv_key = cases[i].key, .csv_size = "2"};
        gathered all;
        gather_text(&all, "csv", cases[i].table, &options);
        if (!cases[i].wanted) {
            if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
            assert_false(all.info.key_identity);
            gathered_free(&all);
            continue;
        }
        if (all.opened != FM_E_ARGUMENT || !strstr(all.message, cases[i].wanted))
            fail_msg("%s: %s", cases[i].table, all.message);
        options.csv_key_unit = 1; /* whoever says so */
        gather_text(&all, "csv", cases[i].table, &options);
        if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
        gathered_free(&all);
        options = (fm_reader_options){.csv_key = cases[i].key ? cases[i].key : "1"}; /* alone it is a key */
        gather_text(&all, "csv", cases[i].table, &options);
        if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
        gathered_free(&all);
    }
}

/* Keys of several columns: equal where all of them are, numbers and text alike. */
CASE(csv_keys_of_several_columns)
{
    static const char table[] = "rel,fork,block,bytes\n"
                                "a,main,1,4\na,fsm,1,4\nb,main,1,4\n7,main,1,4\n007,\"main\",0x1,4\n"
                                "am,ain,1,4\na,main,2,4\n\"a\",main,1,4\n";
    enum { ROWS = 8 };
    static const size_t same_as[ROWS] = {0, 1, 2, 3, 3, 5, 6, 0};
    static const char *const keys[] = {"rel,fork,block", "1,2,3", "block,1,fork"};
    for (unsigned threads = 0; threads <= 3; threads += 3)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            gathered all;
            fm_reader_options options = {
                .csv_key = keys[k], .csv_header = FM_CSV_HEADER_YES, .threads = threads};
            gather_text(&all, "csv", table, &options);
            if (all.status != FM_OK) fail_msg("%s: %s", keys[k], all.message);
            assert_int_equal(all.count, ROWS);
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < ROWS; j++)
                    assert_int_equal(all.address[i] == all.address[j], same_as[i] == same_as[j]);
            assert_int_equal(all.info.string_keys, 6);
            assert_int_equal(all.info.key_columns, 3);
            assert_true(all.info.key_identity);
            gathered_free(&all);
        }
    /* With a unit the last one is a place: pages in a row lie in a row, those of others elsewhere. */
    fm_reader_options placed = {.csv_key = "rel,fork,block", .csv_size = "bytes", .csv_key_unit = 8192};
    gathered all;
    gather_text(&all, "csv", table, &placed);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.address[6], all.address[0] + 8192);
    assert_int_equal(all.address[7], all.address[0]);
    assert_int_equal(all.address[0] % 8192, 0);
    for (size_t i = 1; i < 6; i++) assert_true(all.address[i] >> 20 != all.address[0] >> 20);
    assert_false(all.info.key_identity);
    gathered_free(&all);
    /* A name with a comma in it is one column. */
    fm_reader_options comma = {.csv_key = "a,b"};
    gather_text(&all, "csv", "\"a,b\",a,b\n1,2,3\n", &comma);
    ASSERT_KEYS(all, 1);
    gathered_free(&all);
    static const struct {
        const char *key, *message;
    } wrong[] = {
        {"rel,what", "line 1: expected a column 'what', found: rel, fork, block, bytes"},
        {"rel,block,rel", "column 'rel' is named twice in the key"},
        {"rel,,block", "line 1: expected a column '', found: rel, fork, block, bytes"},
        {"1,2,3,4,5,6,7,8,9", "a key has at most 8 columns"},
        {"1,9", "line 2: expected a key in column 9, found fewer columns"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fm_reader_options options = {.csv_key = wrong[i].key, .csv_header = FM_CSV_HEADER_YES};
        gather_text(&all, "csv", table, &options);
        assert_message(&all, wrong[i].message);
        if (all.opened == FM_OK) gathered_free(&all);
    }
    fm_reader_options text = {.csv_key = "fork,rel", .csv_key_unit = 8192};
    gather_text(&all, "csv", table, &text);
    assert_message(&all, "line 2: expected a number in column 1, found 'a'");
    gathered_free(&all);
}

/* A key that its name tells, and a column beside it that says where it is: taken as long as that one stays.
 */
CASE(csv_columns_beside_the_key)
{
    static const struct {
        const char *table;
        const char *beside; /* NULL: it is read */
        const char *together;
        uint64_t line;
    } cases[] = {
        {"rel,fork,block\n1,0,5\n2,0,5\n", "rel", "rel,fork,block", 1},
        {"rel,fork,block\n1,0,5\n1,0,6\n", NULL, NULL, 0},
        {"DiskNumber,Offset\n0,5\n1,6\n", "DiskNumber", "DiskNumber,Offset", 1},
        {"file name,time,offset\na,1,5\nb,2,6\n", "file name", "file name,offset", 1},
        {"ASU,LBA\n0,5\n1,6\n", "ASU", "ASU,LBA", 1},
        {"bucket,key\nx,5\ny,6\n", "bucket", "bucket,key", 1},
        {"size,key\n7,5\n8,6\n", NULL, NULL, 0},
        {"file_size,offset\n7,5\n8,6\n", NULL, NULL, 0},
        {"device,obj_id\n0,5\n1,6\n", NULL, NULL, 0}, /* an identity is one on every device */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gathered all;
        gather_text(&all, "csv", cases[i].table, NULL);
        if (!cases[i].beside) {
            if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
            gathered_free(&all);
            continue;
        }
        char wanted[128];
        snprintf(wanted, sizeof wanted, "'%s' beside it changes; say csv_key=%s for all", cases[i].beside,
                 cases[i].together);
        if (all.opened != FM_E_ARGUMENT || !strstr(all.message, wanted))
            fail_msg("%s: %s", cases[i].table, all.message);
        fm_reader_options both = {.csv_key = cases[i].together};
        gather_text(&all, "csv", cases[i].table, &both);
        if (all.status != FM_OK) fail_msg("%s: %s", cases[i].table, all.message);
        gathered_free(&all);
    }
    /* Far behind the rows that are looked at first, by one thread and by several. */
    enum { ROWS = 200000 };
    char *text = malloc(ROWS * 16);
    assert_non_null(text);
    for (unsigned threads = 0; threads <= 3; threads += 3) {
        size_t used = (size_t)sprintf(text, "rel,block\n");
        for (int i = 0; i < ROWS; i++)
            used += (size_t)sprintf(text + used, "%d,%d\n", i == ROWS - 3 ? 8 : 7, i % 1000);
        gathered all;
        fm_reader_options options = {.threads = threads};
        gather_text(&all, "csv", text, &options);
        assert_int_equal(all.opened, FM_OK);
        assert_int_equal(all.status, FM_E_ARGUMENT);
        assert_int_equal(all.count, ROWS - 3);
        assert_non_null(strstr(all.message, "line 199999: which columns are the key? 'block' alone"));
        gathered_free(&all);
    }
    free(text);
}

CASE(csv_headers_and_delimiters)
{
    gathered all;
    fm_reader_options first = {.csv_key = "1"};
    gather_text(&all, "csv", "5,6\n7,8\n", &first); /* numbers in the first row: no header */
    ASSERT_KEYS(all, 5, 7);
    gathered_free(&all);
    gather_text(&all, "csv", "alice\nbob\nalice\n", NULL); /* no number anywhere: no header */
    assert_int_equal(all.count, 3);
    assert_int_equal(all.address[0], all.address[2]);
    gathered_free(&all);
    fm_reader_options yes = {.csv_header = FM_CSV_HEADER_YES, .csv_key = "1"};
    gather_text(&all, "csv", "5,6\n7,8\n", &yes);
    ASSERT_KEYS(all, 7);
    gathered_free(&all);
    fm_reader_options no = {.csv_header = FM_CSV_HEADER_NO, .csv_key = "2"};
    gather_text(&all, "csv", "a,b\n7,8\n", &no);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.info.string_keys, 1);
    gathered_free(&all);
    fm_reader_options second = {.csv_key = "2"};
    gather_text(&all, "csv", "1;\"a;b,c\";9\n2;5;6\n", &second);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.address[1], 5);
    gathered_free(&all);
    gather_text(&all, "csv", "1\t11\n2\t22", &second);
    ASSERT_KEYS(all, 11, 22);
    gathered_free(&all);
    fm_reader_options pipe = {.csv_key = "2", .csv_delimiter = '|'};
    gather_text(&all, "csv", "1,1|11\n2,2|22\n", &pipe);
    ASSERT_KEYS(all, 11, 22);
    gathered_free(&all);
    gather_text(&all, "csv", "", NULL);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, 0);
    gathered_free(&all);
    /* A byte order mark belongs to no name. */
    fm_reader_options named = {.csv_key = "key"};
    gather_text(&all, "csv", "\xef\xbb\xbfkey,x\n3,4\n", &named);
    ASSERT_KEYS(all, 3);
    gathered_free(&all);
}

/* Quotes hold delimiters, doubled quotes and line ends; lines are counted through them. */
CASE(csv_quotes)
{
    fm_reader_options second = {.csv_header = FM_CSV_HEADER_NO, .csv_key = "2"};
    gathered all;
    gather_text(&all, "csv", "\"a,\n\"\"b\"\"\",\"x\"\"y\"\n1,\"x\"\"y\"\n1,x\"y\n", &second);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.address[0], all.address[1]);
    assert_int_equal(all.address[0], all.address[2]);
    gathered_free(&all);
    gather_text(&all, "csv", "\"a\n\n\",1\n2\n", &second);
    ASSERT_KEYS(all, 1);
    assert_message(&all, "line 4: expected a key in column 2, found fewer columns");
    gathered_free(&all);
    gather_text(&all, "csv", "1,2\n3,\"4\n", &second);
    ASSERT_KEYS(all, 2);
    assert_int_equal(all.status, FM_E_FORMAT);
    assert_message(&all, "line 2: a quoted field is not closed before the end of the file");
    gathered_free(&all);
    gather_text(&all, "csv", "1,2\n3,\"4\"5\n", &second);
    ASSERT_KEYS(all, 2);
    assert_message(&all, "line 2: expected a delimiter behind the quoted field of column 2");
    gathered_free(&all);
}

CASE(csv_bad_rows)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"5", "line 3: expected a size in column 2, found fewer columns"},
        {"5,x", "line 3: expected a size in column 2, found 'x'"},
        {"5,-1", "line 3: expected a size in column 2, found '-1'"},
        {"5,", "line 3: expected a size in column 2, found ''"},
        {"x,5", "line 3: expected a number in column 1, found 'x'"},
        {"-5,5", "line 3: expected a number in column 1, found '-5'"},
        {"18446744073709551616,5", "line 3: expected a number in column 1, found '18446744073709551616'"},
        {"5,4294967296", "line 3: expected a size below 4 GiB in column 2, found '4294967296'"},
        {"18446744073709551615,2",
         "line 3: expected a size that does not reach beyond 64-bit addresses in column 2, found '2'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char table[128];
        snprintf(table, sizeof table, "offset,length\n1,2\n%s\n3,4\n", cases[i].row);
        fm_reader_options options = {.csv_key = "offset", .csv_size = "length"};
        gathered all;
        gather_text(&all, "csv", table, &options);
        assert_int_equal(all.status, FM_E_FORMAT);
        ASSERT_KEYS(all, 1);
        assert_message(&all, cases[i].message);
        gathered_free(&all);
    }
    fm_reader_options wide = {.csv_key_unit = UINT64_C(1) << 40};
    gathered all;
    gather_text(&all, "csv", "16777215\n16777216\n", &wide);
    ASSERT_KEYS(all, UINT64_C(0xFFFFFF0000000000));
    assert_message(&all,
                   "line 2: expected a key that fits 64 bits after its unit in column 1, found '16777216'");
    gathered_free(&all);
}

CASE(csv_bad_options)
{
    gathered all;
    fm_reader_options wrong = {.csv_key = "lba"};
    gather_text(&all, "csv", "time,lbn,\"a \"\"b\"\"\"\n1,2,3\n", &wrong);
    assert_int_equal(all.opened, FM_E_FORMAT);
    assert_message(&all, "line 1: expected a column 'lba', found: time, lbn, a \"\"b\"\"");
    gather_text(&all, "csv", "", &wrong);
    assert_int_equal(all.opened, FM_E_FORMAT);
    assert_message(&all, "line 1: expected a column 'lba', found: an empty file");
    fm_reader_options odd = {.csv_key = "a \"b\""};
    gather_text(&all, "csv", "time,lbn,\"a \"\"b\"\"\"\n1,2,3\n", &odd);
    ASSERT_KEYS(all, 3);
    gathered_free(&all);
    fm_reader_options none = {.csv_header = FM_CSV_HEADER_NO, .csv_key = "lba"};
    gather_text(&all, "csv", "1,2\n", &none);
    assert_int_equal(all.opened, FM_E_ARGUMENT);
    fm_reader_options zero = {.csv_key = "0"};
    gather_text(&all, "csv", "1,2\n", &zero);
    assert_int_equal(all.opened, FM_E_ARGUMENT);
    assert_message(&all, "column number 0; expected 1 to 1048576");
    fm_reader_options quote = {.csv_delimiter = '"'};
    gather_text(&all, "csv", "1,2\n", &quote);
    assert_int_equal(all.opened, FM_E_ARGUMENT);
}

/* Rows of every length across the window's edges, some quoted with line ends inside. */
/* The first two rows are looked at together: each may be as long as any row, and the line that is too long is
 * the one that is told. */
CASE(csv_long_rows)
{
    enum { LONGEST = 1 << 20 };
    char *text = malloc(3 * LONGEST);
    assert_non_null(text);
    fm_reader_options options = {.csv_key = "1"};
    for (size_t over = 0; over <= 1; over++)
        for (size_t long_first = 0; long_first <= 1; long_first++) {
            /* The header, a row: names or digits, a comma, and something to ignore. */
            const size_t lengths[2] = {long_first ? LONGEST : 5, LONGEST + over};
            char *at = text;
            for (size_t row = 0; row < 2; row++) {
                memset(at, 'x', lengths[row]);
                memcpy(at, row ? "7," : "k,", 2);
                at[lengths[row]] = '\n';
                at += lengths[row] + 1;
            }
            memcpy(at, "8,y\n", 5);
            gathered all;
            gather_text(&all, "csv", text, &options);
            assert_int_equal(all.status, over ? FM_E_FORMAT : FM_OK);
            if (over) {
                assert_message(&all, "line 2: longer than 1048576 bytes; is this really a text format?");
            } else {
                ASSERT_KEYS(all, 7, 8);
            }
            gathered_free(&all);
        }
    /* A quoted field over several lines, in the second row. */
    char *at = text + sprintf(text, "k,b\n5,\"");
    for (size_t i = 0; i < 2 * LONGEST; i++) *at++ = i % 100 == 99 ? '\n' : 'x';
    memcpy(at, "\"\n", 3);
    gathered all;
    gather_text(&all, "csv", text, &options);
    assert_int_equal(all.status, FM_E_FORMAT);
    assert_message(&all, "line 2: longer than 1048576 bytes; is this really a text format?");
    gathered_free(&all);
    free(text);
}

CASE(csv_many_rows)
{
    size_t count = 150000, used = 0;
    char *text = malloc(count * 64);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        if (i % 11 == 5)
            used += (size_t)sprintf(text + used, "\"%*zu\n,\"\"\",%zu\n", (int)(i % 23), i, i * 3);
        else
            used += (size_t)sprintf(text + used, "%*zu,%zu\n", (int)(i % 23), i, i * 3);
    }
    fm_reader_options second = {.csv_header = FM_CSV_HEADER_NO, .csv_key = "2"};
    gathered all;
    gather_text(&all, "csv", text, &second);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(all.address[i], i * 3);
    gathered_free(&all);
    free(text);
}

CASE(lackey_kinds)
{
    static const char text[] =
        "==12== Lackey, an example\n--12-- verbose\nI  04015e40,3\n L 1ffefff8a8,8\n"
        " S 1ffefff8a0,4\r\n\n M 0421c7cc,4\nI  ffffffffffffffff,15\n L 0,1\n==12== end";
    static const uint64_t addresses[] = {
        0x04015e40, UINT64_C(0x1ffefff8a8), UINT64_C(0x1ffefff8a0), 0x0421c7cc, UINT64_MAX, 0};
    static const uint8_t kinds[] = {FM_KIND_FETCH,  FM_KIND_LOAD,  FM_KIND_STORE,
                                    FM_KIND_MODIFY, FM_KIND_FETCH, FM_KIND_LOAD};
    static const uint32_t sizes[] = {3, 8, 4, 4, 15, 1};
    for (fm_fetches fetches = FM_FETCHES_SKIP; fetches <= FM_FETCHES_ALL; fetches++) {
        fm_reader_options options = {.fetches = fetches};
        gathered all;
        gather_text(&all, "lackey", text, &options);
        assert_int_equal(all.status, FM_OK);
        assert_true(all.info.memory_addresses);
        assert_int_equal(all.info.columns, FM_COLUMN_SIZE | FM_COLUMN_KIND);
        assert_int_equal(all.info.fetches_skipped, fetches == FM_FETCHES_SKIP ? 2 : 0);
        size_t at = 0;
        for (size_t i = 0; i < 6; i++) {
            bool fetch = kinds[i] == FM_KIND_FETCH;
            if (fetch ? fetches == FM_FETCHES_SKIP : fetches == FM_FETCHES_ONLY) continue;
            assert_true(at < all.count);
            assert_int_equal(all.address[at], addresses[i]);
            assert_int_equal(all.size[at], sizes[i]);
            assert_int_equal(all.kind[at], kinds[i]);
            at++;
        }
        assert_int_equal(at, all.count);
        gathered_free(&all);
    }
}

CASE(lackey_bad_lines)
{
    static const char *const lines[] = {" L 12",
                                        " L 12,",
                                        " L ,4",
                                        " L 12,0",
                                        " L 12,4294967296",
                                        " L 12,4x",
                                        " X 12,4",
                                        "L 12,4",
                                        " L  12,4",
                                        "I 04,3x",
                                        "hello",
                                        " L 11112222333344445,1",
                                        " L 0x12,4",
                                        " L 12,00",
                                        " L 12,x4",
                                        " L 12,4,8",
                                        " L 12,:1",
                                        "I  ,11",
                                        " L 1g,8",
                                        " L 12 8",
                                        " L ,"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[128], expected[256];
        snprintf(text, sizeof text, " L 10,1\n%s\n S 20,1\n", lines[i]);
        snprintf(expected, sizeof expected,
                 "line 2: expected ' L address,size', ' S', ' M' or 'I ' likewise, found '%s'", lines[i]);
        gathered all;
        gather_text(&all, "lackey", text, NULL);
        assert_int_equal(all.status, FM_E_FORMAT);
        ASSERT_KEYS(all, 0x10);
        assert_message(&all, expected);
        gathered_free(&all);
    }
}

CASE(din_lines)
{
    static const char text[] = "0 10\n1 0x20 extra words\n2 30\r\n3 40\n4 0\n4\n\n 0\tffffffffffffffff\n";
    gathered all;
    fm_reader_options every = {.fetches = FM_FETCHES_ALL};
    gather_text(&all, "din", text, &every);
    /* "4" alone needs a blank behind it to be a label: "4\n" is not right */
    assert_int_equal(all.status, FM_E_FORMAT);
    assert_message(&all, "line 6: expected a label 0 to 4 and a hexadecimal address, found '4'");
    gathered_free(&all);
    static const char good[] = "0 10\n1 0x20 extra words\n2 30\r\n3 40\n4 0\n\n 0\tffffffffffffffff\n";
    gather_text(&all, "din", good, &every);
    assert_int_equal(all.status, FM_OK);
    ASSERT_KEYS(all, 0x10, 0x20, 0x30, 0x40, UINT64_MAX);
    static const uint8_t kinds[] = {FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_LOAD, FM_KIND_LOAD};
    assert_memory_equal(all.kind, kinds, sizeof kinds);
    assert_null(all.size);
    gathered_free(&all);
    gather_text(&all, "din", good, NULL);
    ASSERT_KEYS(all, 0x10, 0x20, 0x40, UINT64_MAX);
    assert_int_equal(all.info.fetches_skipped, 1);
    gathered_free(&all);
    fm_reader_options only = {.fetches = FM_FETCHES_ONLY};
    gather_text(&all, "din", good, &only);
    ASSERT_KEYS(all, 0x30);
    gathered_free(&all);
    static const char *const lines[] = {
        "5 10", "x 10", "0", "0 ", "0 xyz", "0 10x", "010", "0 11112222333344445", "-1 10"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char bad[128], expected[256];
        snprintf(bad, sizeof bad, "0 1\n%s\n0 2\n", lines[i]);
        snprintf(expected, sizeof expected,
                 "line 2: expected a label 0 to 4 and a hexadecimal address, found '%s'", lines[i]);
        gather_text(&all, "din", bad, NULL);
        assert_int_equal(all.status, FM_E_FORMAT);
        ASSERT_KEYS(all, 1);
        assert_message(&all, expected);
        gathered_free(&all);
    }
}

CASE(oracle_records)
{
    enum { COUNT = 20000 };
    uint8_t *bytes = calloc(COUNT, 24);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t object = i * UINT64_C(0x9E3779B97F4A7C15);
        memset(bytes + 24 * i, 0xEE, 24);
        for (int b = 0; b < 8; b++) bytes[24 * i + 4 + (size_t)b] = (uint8_t)(object >> (8 * b));
    }
    const char *path = in_directory("x.oracleGeneral.bin");
    for (size_t cut = 0; cut < 48; cut++) {
        write_file(path, bytes, 24 * COUNT - cut);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.count, (24 * COUNT - cut) / 24);
        assert_int_equal(all.status, cut % 24 ? FM_E_TRUNCATED : FM_OK);
        assert_string_equal(all.info.format, "oracle");
        for (uint64_t i = 0; i < all.count; i++)
            assert_int_equal(all.address[i], i * UINT64_C(0x9E3779B97F4A7C15));
        gathered_free(&all);
    }
    free(bytes);
}

CASE(table_of_formats)
{
    static const struct {
        const char *name, *format;
    } cases[] = {{"a.u64", "u64"},
                 {"dir.csv/a.txt", "text"},
                 {"a.text.gz", "text"},
                 {"a.csv.zst", "csv"},
                 {"a.lackey", "lackey"},
                 {"a.din", "din"},
                 {"a.oracle", "oracle"},
                 {"a.oracleGeneral", "oracle"},
                 {"a.oracleGeneral.bin.zst", "oracle"},
                 {"a.fathom", "fathom"},
                 {"a.bin", NULL},
                 {"a", NULL},
                 {"-", NULL},
                 {".u64", NULL},
                 {"a.zst", NULL},
                 {"dir.u64/a", NULL},
                 {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const fm_format_info *info = fm_format_of_name(cases[i].name);
        if (!cases[i].format)
            assert_null(info);
        else
            assert_string_equal(info->name, cases[i].format);
    }
    static const char *const names[] = {"u64", "text", "csv", "lackey", "din", "oracle", "fathom"};
    for (size_t i = 0; i < 7; i++) assert_string_equal(fm_format_at(i)->name, names[i]);
    assert_null(fm_format_at(7));
}

CASES_WITH(make_directory, remove_directory);
