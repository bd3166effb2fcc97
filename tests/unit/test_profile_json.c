/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_json.c - profiles survive the way through a file; wrong files are refused by name. */
#include "case.h"

#include <errno.h>
#include <fathom/profile.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"

static char folder[] = "/tmp/fathom-profile-XXXXXX";
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/p.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when a temporary was left behind */
}

static fm_profile *sample(void)
{
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    static const fm_bin bins[] = {{0, 0, 5}, {7, 7, 1}, {1024, 1039, 9}};
    profile->name = strdup("a \"trace\"\\\n\x01</script>");
    profile->granularity = 64;
    profile->distinct = 10; /* as of a phase: six of them were touched before it */
    profile->cold = 4;
    profile->references = 19;
    profile->distances.bins = malloc(sizeof bins);
    memcpy(profile->distances.bins, bins, sizeof bins);
    profile->distances.count = 3;
    return profile;
}

static void assert_alike(const fm_profile *a, const fm_profile *b)
{
    if (a->name)
        assert_string_equal(a->name, b->name);
    else
        assert_null(b->name);
    assert_string_equal(a->engine, b->engine);
    assert_int_equal(a->exact, b->exact);
    assert_int_equal(a->granularity, b->granularity);
    assert_int_equal(a->references, b->references);
    assert_int_equal(a->distinct, b->distinct);
    assert_int_equal(a->cold, b->cold);
    assert_int_equal(a->bound, b->bound);
    assert_int_equal(a->beyond, b->beyond);
    assert_int_equal(a->cold_known, b->cold_known);
    assert_int_equal(a->bins, b->bins);
    assert_int_equal(a->has_times, b->has_times);
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->lost, b->lost);
    if (a->what_missing)
        assert_string_equal(a->what_missing, b->what_missing);
    else
        assert_null(b->what_missing);
    assert_int_equal(a->distances.count, b->distances.count);
    if (a->distances.count)
        assert_memory_equal(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin));
    assert_int_equal(a->times.count, b->times.count);
    if (a->times.count) assert_memory_equal(a->times.bins, b->times.bins, a->times.count * sizeof(fm_bin));
}

static void round_trip(const fm_profile *const *profiles, size_t count)
{
    fm_error error;
    fm_profile_list list;
    assert_int_equal(fm_profile_write(path, profiles, count, &error), FM_OK);
    assert_int_equal(fm_profile_read(path, &list, &error), FM_OK);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++) assert_alike(profiles[i], list.profiles[i]);
    fm_profile_list_clear(&list);
}

CASE(profiles_survive_a_file)
{
    fm_profile *first = sample(), *second = sample(), *empty;
    assert_int_equal(fm_profile_create(&empty, NULL), FM_OK);
    const fm_profile *const one[] = {first}, *const nothing[] = {empty};
    round_trip(one, 1);
    round_trip(nothing, 1);

    second->granularity = 4096;
    second->bound = 1030; /* inside a bin */
    second->distances.bins[2].hi = 1029;
    second->beyond = 6;
    second->references += 6;
    second->cold_known = false;
    second->complete = false;
    second->lost = 3;
    second->exact = false;
    second->what_missing = strdup("the trace ends early");
    second->has_times = true;
    second->times.bins = malloc(sizeof(fm_bin));
    second->times.bins[0] = (fm_bin){2048, 2079, 21};
    second->times.count = 1;
    const fm_profile *const both[] = {first, second};
    round_trip(both, 2);

    /* All 64 bits. */
    first->bins = FM_BINS_LOG2;
    first->bound = first->references = UINT64_MAX;
    first->beyond = UINT64_MAX - 4 - 7;
    first->distances.count = 1;
    first->distances.bins[0] = (fm_bin){UINT64_C(1) << 63, UINT64_MAX, 7};
    round_trip(one, 1);
    fm_profile_destroy(first);
    fm_profile_destroy(second);
    fm_profile_destroy(empty);
}

/* The contract, read by another reader than ours. */
CASE(the_file_is_what_the_contract_says)
{
    fm_profile *profile = sample();
    const fm_profile *const one[] = {profile}, *const two[] = {profile, profile};
    assert_int_equal(fm_profile_write(path, one, 1, NULL), FM_OK);
    json_t *tree = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    assert_string_equal(json_string_value(json_object_get(tree, "schema")), "fathom-profile-1");
    assert_string_equal(json_string_value(json_object_get(tree, "engine")), "exact");
    assert_true(json_is_true(json_object_get(tree, "exact")));
    assert_int_equal(json_integer_value(json_object_get(tree, "references")), 19);
    assert_int_equal(json_integer_value(json_object_get(tree, "cold")), 4);
    assert_int_equal(json_integer_value(json_object_get(tree, "distinct")), 10);
    assert_int_equal(json_integer_value(json_object_get(tree, "granularity")), 64);
    assert_true(json_is_true(json_object_get(tree, "complete")));
    assert_int_equal(json_integer_value(json_object_get(tree, "lost")), 0);
    assert_null(json_object_get(tree, "beyond")); /* only with a bound */
    assert_null(json_object_get(tree, "times"));
    assert_null(json_object_get(tree, "profiles"));
    json_t *bin = json_array_get(json_object_get(tree, "histogram"), 2);
    assert_int_equal(json_integer_value(json_array_get(bin, 0)), 1024);
    assert_int_equal(json_integer_value(json_array_get(bin, 1)), 1039);
    assert_int_equal(json_integer_value(json_array_get(bin, 2)), 9);
    json_decref(tree);

    profile->bound = 1u << 20;
    assert_int_equal(fm_profile_write(path, two, 2, NULL), FM_OK);
    tree = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    assert_int_equal(json_integer_value(json_object_get(tree, "beyond")), 0);
    assert_int_equal(json_integer_value(json_object_get(tree, "references")), 19);
    assert_int_equal(json_array_size(json_object_get(tree, "profiles")), 2);
    json_decref(tree);
    fm_profile_destroy(profile);
}

CASE(broken_utf8_becomes_valid)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"\xff", "\xEF\xBF\xBD"},
        {"a\xc3", "a\xEF\xBF\xBD"},                                                 /* cut */
        {"\xc0\xaf", "\xEF\xBF\xBD\xEF\xBF\xBD"},                                   /* overlong */
        {"\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},                   /* surrogate */
        {"\xf4\x90\x80\x80z", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz"}, /* over U+10FFFF */
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_profile *profile = sample();
        free(profile->name);
        profile->name = strdup(cases[i].in);
        const fm_profile *const one[] = {profile};
        fm_profile_list list;
        assert_int_equal(fm_profile_write(path, one, 1, NULL), FM_OK);
        assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
        assert_string_equal(list.profiles[0]->name, cases[i].out);
        fm_profile_list_clear(&list);
        fm_profile_destroy(profile);
    }
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const char good[] =
    "{\"schema\":\"fathom-profile-1\",\"engine\":\"exact\",\"exact\":true,\"granularity\":64,"
    "\"references\":10,\"distinct\":8,\"cold\":2,\"histogram\":[[0,0,3],[5,5,5]],"
    "\"complete\":true,\"lost\":0}";

/* `good` with one piece replaced. */
static void write_changed(const char *from, const char *to)
{
    char text[2048];
    const char *at = strstr(good, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    write_text(text);
}

CASE(wrong_files_are_refused)
{
    static const struct {
        const char *from, *to;
        fm_status status;
        const char *said;
    } cases[] = {
        {"fathom-profile-1", "fathom-profile-2", FM_E_UNSUPPORTED, "fathom-profile-2"},
        {"fathom-profile-1", "something", FM_E_FORMAT, "found 'something'"},
        {"fathom-profile-1", "some\\u001bthing", FM_E_FORMAT, "found 'some?thing'"},
        {"\"schema\":\"fathom-profile-1\",", "", FM_E_FORMAT, "schema"},
        {"\"references\":10", "\"references\":11", FM_E_FORMAT,
         "\"references\" is 11, but cold 2 + beyond 0 + histogram 8 = 10"},
        {"\"references\":10", "\"references\":-1", FM_E_FORMAT, "found -1"},
        {"\"references\":10", "\"references\":10.0", FM_E_FORMAT, "found a fraction"},
        {"\"references\":10", "\"references\":\"10\"", FM_E_FORMAT, "found a string"},
        {"\"references\":10,", "", FM_E_FORMAT, "\"references\", found none"},
        {"\"references\":10", "\"references\":99999999999999999999", FM_E_FORMAT,
         "below 2^64, found 99999999999999999999"},
        {"\"cold\":2", "\"cold\":9223372036854775807", FM_E_FORMAT, "do not add up"},
        {"\"exact\":true", "\"exact\":1", FM_E_FORMAT, "expected true or false"},
        {"\"engine\":\"exact\"", "\"engine\":null", FM_E_FORMAT, "expected a string"},
        {"\"granularity\":64", "\"granularity\":0", FM_E_FORMAT, "power of two"},
        {"\"granularity\":64", "\"granularity\":48", FM_E_FORMAT, "power of two, found 48"},
        {"[0,0,3]", "[1,0,3]", FM_E_FORMAT, "lo <= hi, found 1 and 0"},
        {"[0,0,3]", "[0,0]", FM_E_FORMAT, "\"histogram\"[0]: expected [lo, hi, count]"},
        {"[0,0,3]", "7", FM_E_FORMAT, "found a number"},
        {"[0,0,3]", "[0,0,-3]", FM_E_FORMAT, "found -3"},
        {"[0,0,3]", "[0,0,3],[0,0,0]", FM_E_FORMAT, "from 1 on, found 0"},
        {"[5,5,5]", "[0,0,5]", FM_E_FORMAT, "found 0 after 0"},
        {"[5,5,5]", "[5,5,9223372036854775807],[6,6,9223372036854775807],[7,7,9]", FM_E_FORMAT,
         "exceed 64 bits"},
        {"[5,5,5]", "[5,9,5]", FM_E_FORMAT, "5 to 9 is not a bin"},
        {"\"lost\":0", "\"lost\":0,\"bins\":\"fine\"", FM_E_FORMAT, "found 'fine'"},
        {"\"lost\":0", "\"lost\":0,\"beyond\":0,\"bound\":5", FM_E_FORMAT, "not below the bound 5"},
        {"\"cold\":2", "\"cold\":1,\"beyond\":1", FM_E_FORMAT, "no \"bound\""},
        {"\"lost\":0", "\"lost\":0,\"times\":[[1,1,11]]", FM_E_FORMAT, "more than the 10 references"},
        {"\"lost\":0", "\"lost\":0,\"profiles\":[]", FM_E_FORMAT, "at least one profile, found none"},
        {"\"lost\":0", "\"lost\":0,\"profiles\":[{}]", FM_E_FORMAT, "profiles[0].schema"},
        {"\"lost\":0", "\"lost\":0,\"profiles\":[5]", FM_E_FORMAT, "which is an object, found a number"},
        {"\"lost\":0", "\"lost\":0,\"lost\":0", FM_E_FORMAT, "\"lost\" is given twice"},
        {"\"lost\":0}", "\"lost\":0", FM_E_FORMAT, "expected , or }, found the end of the file"},
        {"\"lost\":0}", "\"lost\":0} x", FM_E_FORMAT, "expected the end of the file, found 'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_error error = {0};
        fm_profile_list list;
        write_changed(cases[i].from, cases[i].to);
        fm_status status = fm_profile_read(path, &list, &error);
        if (status != cases[i].status || !strstr(error.reason, cases[i].said))
            fail_msg("case %zu: status %d, said '%s', expected '%s'", i, status, error.reason, cases[i].said);
        assert_int_equal(error.status, status);
        assert_string_equal(error.path, path);
        assert_int_equal(list.count, 0);
        assert_null(list.profiles);
    }
}

/* Unknown fields may hold any JSON; jansson is the judge of what is JSON. */
CASE(skipping_agrees_with_another_reader)
{
    static const char *const seeds[] = {
        "[1,-2.5e+3,{\"a\":[],\"b\\n\":{}},true,false,null,\"\\u0041\\ud83c\\udf0a\\\"\"]",
        "{\"k\":\"\xc3\xa9\xf0\x9f\x8c\x8a\",\"n\":[0,0.5,1E2,-0]}",
        "\"\\b\\f\\n\\r\\t\\/\\\\\"",
    };
    static const char alphabet[] = "[]{},:\"\\0123456789eE+-.truefalsn u\x01\x7f\xc3\xa9\xed\xa0\x80\xff";
    uint64_t random = 88172645463325252u;
    size_t accepted = 0, refused = 0;
    for (int round = 0; round < 4000; round++) {
        char value[256], text[1024];
        snprintf(value, sizeof value, "%s", seeds[round % 3]);
        size_t length = strlen(value);
        for (int change = round / 3 % 4; change > 0; change--) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            value[random % length] = alphabet[(random >> 32) % (sizeof alphabet - 1)];
        }
        /* "1e999" is JSON, but jansson refuses what a double cannot hold: not its own judge there. */
        if (strpbrk(strpbrk(value, "eE") ? strpbrk(value, "eE") : "", "6789")) continue;
        snprintf(text, sizeof text, "{\"x\":%s,%s", value, good + 1);
        write_text(text);
        json_t *tree = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
        fm_profile_list list;
        fm_error error;
        fm_status status = fm_profile_read(path, &list, &error);
        if ((status == FM_OK) != (tree != NULL))
            fail_msg("jansson %s, but we say '%s': %s", tree ? "accepts" : "refuses", error.reason, text);
        if (tree)
            accepted++;
        else
            refused++;
        fm_profile_list_clear(&list);
        json_decref(tree);
    }
    assert_true(accepted > 100 && refused > 100);
}

CASE(deep_nesting_is_refused)
{
    enum { DEEP = 100000 };
    char *text = malloc(DEEP + 100);
    memcpy(text, "{\"x\":", 5);
    memset(text + 5, '[', DEEP);
    text[5 + DEEP] = '\0';
    write_text(text);
    free(text);
    fm_profile_list list;
    fm_error error;
    assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
    assert_non_null(strstr(error.reason, "nested"));
    assert_int_equal(error.offset, 5 + 64);
}

/* What begins like true, false or null and is another word is not taken for it. */
CASE(other_words_are_named)
{
    static const struct {
        const char *text, *said;
        uint64_t offset;
    } cases[] = {
        {"nothing here", "expected a profile in JSON, found 'n'", 0},
        {"  nullable", "expected a JSON value, found 'n'", 2},
        {"truth", "expected a profile in JSON, found 't'", 0},
        {"falsE", "expected a profile in JSON, found 'f'", 0},
        {"n", "expected a JSON value, found the end of the file", 1},
        {"null", "which is an object, found null", 0},
        {"true\n", "which is an object, found true or false", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fm_profile_list list;
        fm_error error;
        write_text(cases[i].text);
        assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
        assert_int_equal(error.offset, cases[i].offset);
        if (!strstr(error.reason, cases[i].said)) fail_msg("%s: '%s'", cases[i].text, error.reason);
    }
}

/* Words, and the place of a mistake behind them, where the scanner's buffer ends. */
CASE(words_across_the_buffer_are_read)
{
    static char text[FM_JSON_BUFFER + sizeof good + 1];
    const size_t word = (size_t)(strstr(good, "true") - good);
    for (size_t before = 0; before <= 6; before++) {
        size_t blanks = FM_JSON_BUFFER - before - word;
        memset(text, ' ', blanks);
        memcpy(text + blanks, good, sizeof good);
        write_text(text);
        fm_profile_list list;
        fm_error error;
        assert_int_equal(fm_profile_read(path, &list, &error), FM_OK);
        assert_true(list.profiles[0]->exact);
        fm_profile_list_clear(&list);
        text[blanks + word + 3] = 'x';
        write_text(text);
        assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
        assert_int_equal(error.offset, blanks + word);
        assert_non_null(strstr(error.reason, "expected a JSON value, found 't'"));
    }
}

/* Every prefix of a good file is refused, and nothing crashes. */
CASE(a_file_cut_anywhere_is_refused)
{
    char text[sizeof good];
    for (size_t length = 0; length + 1 < sizeof good; length++) {
        memcpy(text, good, length);
        text[length] = '\0';
        write_text(text);
        fm_profile_list list;
        fm_error error;
        assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
        assert_int_equal(error.place, FM_PLACE_BYTE);
        assert_int_equal(error.offset, length);
    }
}

CASE(a_minimal_file_is_read)
{
    fm_profile_list list;
    write_changed("\"lost\":0", "\"lost\":0,\"a later field\":{\"x\":[1]}");
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    assert_int_equal(list.profiles[0]->bins, FM_BINS_EXACT); /* the finest that fits */
    assert_null(list.profiles[0]->name);
    assert_true(list.profiles[0]->cold_known);
    fm_profile_list_clear(&list);
    write_changed("[5,5,5]", "[8,15,5]");
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    assert_int_equal(list.profiles[0]->bins, FM_BINS_LOG2);
    fm_profile_list_clear(&list);
}

CASE(trouble_with_files_is_named)
{
    fm_error error;
    fm_profile_list list;
    write_text("");
    assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
    assert_non_null(strstr(error.reason, "an empty file"));
    write_text("{\n\"schema\": oops");
    assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
    assert_int_equal(error.place, FM_PLACE_BYTE);
    assert_int_equal(error.offset, 12);
    assert_non_null(strstr(error.reason, "found 'o'"));
    assert_int_equal(fm_profile_read("/nonexistent/p.json", &list, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, strerror(ENOENT)));
    assert_int_equal(fm_profile_read(folder, &list, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, strerror(EISDIR)));

    fm_profile *profile = sample();
    const fm_profile *const one[] = {profile};
    assert_int_equal(fm_profile_write("/nonexistent/p.json", one, 1, &error), FM_E_IO);
    assert_int_equal(fm_profile_write("/dev/full", one, 1, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, strerror(ENOSPC)));
    assert_int_equal(fm_profile_write(path, one, 0, &error), FM_E_ARGUMENT);
    fm_profile_destroy(profile);
}

CASE(a_failed_write_leaves_the_old_file)
{
    write_text(good);
    assert_int_equal(chmod(path, 0640), 0);
    fm_profile *profile = sample();
    const fm_profile *const one[] = {profile};
    profile->references++; /* does not add up */
    fm_error error;
    assert_int_equal(fm_profile_write(path, one, 1, &error), FM_E_ARGUMENT);
    fm_profile_list list;
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    assert_int_equal(list.profiles[0]->references, 10);
    fm_profile_list_clear(&list);

    profile->references--;
    assert_int_equal(fm_profile_write(path, one, 1, &error), FM_OK);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    fm_profile_destroy(profile);
}

CASE(a_symbolic_link_stays_one)
{
    char link[160];
    snprintf(link, sizeof link, "%s/link", folder);
    write_text(good);
    assert_int_equal(symlink(path, link), 0);
    fm_profile *profile = sample();
    const fm_profile *const one[] = {profile};
    assert_int_equal(fm_profile_write(link, one, 1, NULL), FM_OK);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    fm_profile_list list;
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    assert_int_equal(list.profiles[0]->references, 19);
    fm_profile_list_clear(&list);
    fm_profile_destroy(profile);
    assert_int_equal(unlink(link), 0);
}

CASES_WITH(make_folder, remove_folder);
