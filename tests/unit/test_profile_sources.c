/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_sources.c - the source files of a profile: what is recorded (sha256sum being the judge), that
 * it survives writing, reading and adding up, and what is refused of a file that someone prepared.
 */

#include "case.h"

#include "unit/temporary_folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attribution_samples.h"

#include "base/bytes.h"

static void sum_of_sha256sum(const char *path, char sum[FM_SHA256_TEXT])
{
    char command[256];
    snprintf(command, sizeof command, "sha256sum < '%s'", path);
    FILE *in = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(in);
    assert_int_equal(fread(sum, 1, FM_SHA256_TEXT - 1, in), FM_SHA256_TEXT - 1);
    sum[FM_SHA256_TEXT - 1] = '\0';
    pclose(in);
}

/* A profile with a site in each of these files. */
static fm_profile *profile_in(const char *const *files, uint32_t count)
{
    fm_attribution *made = sample_attribution(1, count, 0, 0);
    made->modules[0].path = fm_attribution_intern(made, "/no/such/program");
    for (uint32_t i = 0; i < count; i++) {
        sample_site(made, i, 0x1000 + i, "f", files[i], i + 1, NULL, NULL, 0);
        sample_pair(made, FM_NONE, i, FM_RANGE_COLD, 10);
    }
    return sample_attributed(made);
}

static fm_profile *written_and_read(const fm_profile *profile)
{
    fm_error error;
    fm_profile_list list;
    const char *path = in_folder("profile.json");
    assert_int_equal(fm_profile_write(path, &profile, 1, &error), FM_OK);
    assert_int_equal(fm_profile_read(path, &list, &error), FM_OK);
    fm_profile *read = list.profiles[0];
    list.profiles[0] = NULL;
    fm_profile_list_clear(&list);
    return read;
}

CASE(files_are_recorded_as_they_are)
{
    FILE *out = fopen(in_folder("latin.c"), "w");
    fwrite("caf\xe9 </script>\r\n\x01\n", 1, 18, out);
    fclose(out);
    write_file(in_folder("a.c"), "int a; /* \xe2\x80\xae */\n");
    write_file(in_folder("empty.c"), "");
    assert_int_equal(mkfifo(in_folder("pipe.c"), 0600), 0);
    const char *files[] = {in_folder("latin.c"), in_folder("a.c"),    in_folder("empty.c"),
                           in_folder("a.c"),     in_folder("none.c"), in_folder("pipe.c")};
    for (int with_text = 0; with_text < 2; with_text++) {
        fm_profile *profile = profile_in(files, 6);
        fm_attribution *made = profile->attribution;
        assert_null(made->sources);
        assert_int_equal(fm_attribution_record_sources(made, with_text, NULL, NULL), FM_OK);
        assert_int_equal(made->source_count, 3); /* what can be read, once each */
        fm_profile *read = written_and_read(profile);
        for (int i = 0; i < 2; i++) {
            const fm_attribution *of = i ? read->attribution : made;
            assert_int_equal(of->source_count, 3);
            for (size_t j = 0; j < 3; j++) {
                char sum[FM_SHA256_TEXT];
                struct stat about;
                const fm_source *source = fm_attribution_source(of, files[j]);
                assert_non_null(source);
                sum_of_sha256sum(files[j], sum);
                assert_int_equal(stat(files[j], &about), 0);
                assert_string_equal(source->sha256, sum);
                assert_int_equal(source->size, about.st_size);
                assert_int_equal(source->text != NULL, with_text);
            }
            assert_null(fm_attribution_source(of, in_folder("none.c")));
            if (with_text)
                assert_string_equal(fm_attribution_source(of, files[1])->text, "int a; /* \xe2\x80\xae */\n");
        }
        if (with_text) /* JSON is UTF-8 */
            assert_string_equal(fm_attribution_source(read->attribution, files[0])->text,
                                "caf\xef\xbf\xbd </script>\r\n\x01\n");
        fm_profile_destroy(read);
        fm_profile_destroy(profile);
    }
}

/* A source that is newer than the program: the lines may be others. */
CASE(newer_files_are_told)
{
    const char *program = in_folder("program");
    write_file(program, "\177ELF");
    write_file(in_folder("old.c"), "old\n");
    write_file(in_folder("new.c"), "new\n");
    struct timespec earlier[] = {{1000000000, 0}, {1000000000, 0}},
                    then[] = {{1000000001, 5}, {1000000001, 5}};
    assert_int_equal(utimensat(-1, in_folder("old.c"), earlier, 0), 0);
    assert_int_equal(utimensat(-1, program, then, 0), 0);
    const char *files[] = {in_folder("old.c"), in_folder("new.c")};
    fm_profile *profile = profile_in(files, 2);
    profile->attribution->modules[0].path = fm_attribution_intern(profile->attribution, program);
    char *said = NULL;
    size_t size = 0;
    FILE *notes = open_memstream(&said, &size);
    assert_int_equal(fm_attribution_record_sources(profile->attribution, false, notes, NULL), FM_OK);
    fclose(notes);
    assert_string_equal(said,
                        "new.c: changed after the program was built: lines may have moved; build it again\n");
    free(said);
    fm_profile *read = written_and_read(profile);
    assert_false(fm_attribution_source(read->attribution, files[0])->newer);
    assert_true(fm_attribution_source(read->attribution, files[1])->newer);
    fm_profile_destroy(read);
    fm_profile_destroy(profile);
}

CASE(sums_keep_what_both_agree_on)
{
    write_file(in_folder("same.c"), "same\n");
    write_file(in_folder("edited.c"), "before\n");
    write_file(in_folder("mine.c"), "mine\n");
    write_file(in_folder("yours.c"), "yours\n");
    write_file(in_folder("late.c"), "late\n");
    const char *first[] = {in_folder("same.c"), in_folder("edited.c"), in_folder("mine.c"),
                           in_folder("late.c")};
    const char *second[] = {first[0], first[1], in_folder("yours.c"), first[3]};
    fm_profile *sum = profile_in(first, 4), *other = profile_in(second, 4);
    assert_int_equal(fm_attribution_record_sources(sum->attribution, false, NULL, NULL), FM_OK);
    write_file(first[1], "after.\n");
    assert_int_equal(unlink(first[3]), 0); /* the second run has lines of it, but does not know what it was */
    assert_int_equal(fm_attribution_record_sources(other->attribution, true, NULL, NULL), FM_OK);
    assert_int_equal(fm_profile_merge(sum, other, NULL), FM_OK);
    fm_profile *read = written_and_read(sum);
    const fm_attribution *of = read->attribution;
    assert_int_equal(of->source_count, 5);
    assert_string_equal(fm_attribution_source(of, first[0])->text, "same\n");
    assert_null(fm_attribution_source(of, first[1])->sha256);
    assert_null(fm_attribution_source(of, first[1])->text);
    assert_non_null(fm_attribution_source(of, first[2])->sha256);
    assert_null(fm_attribution_source(of, first[2])->text);
    assert_string_equal(fm_attribution_source(of, second[2])->text, "yours\n");
    assert_null(fm_attribution_source(of, first[3])->sha256);
    fm_profile_destroy(read);
    fm_profile_destroy(other);
    fm_profile_destroy(sum);
}

/* ---- files that someone prepared ---- */

static const char *refusal(const char *sources)
{
    static char message[1200];
    fm_error error;
    fm_profile_list list;
    const char *path = in_folder("hostile.json");
    FILE *out = fopen(path, "w");
    fprintf(out,
            "{\"schema\": \"fathom-profile-1\", \"engine\": \"exact\", \"exact\": true, \"granularity\": 64, "
            "\"references\": 0, \"distinct\": 0, \"cold\": 0, \"complete\": true, \"lost\": 0, "
            "\"histogram\": [], "
            "\"attribution\": {\"sources\": %s}}\n",
            sources);
    fclose(out);
    if (fm_profile_read(path, &list, &error) == FM_OK) {
        fm_profile_list_clear(&list);
        return "";
    }
    return fm_error_message(&error, message, sizeof message);
}

#define SUM_OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

CASE(what_is_wrong_is_refused)
{
    static const struct {
        const char *sources, *said;
    } cases[] = {
        {"[]", ""},
        {"[{\"path\": \"b\"}, {\"path\": \"a\", \"sha256\": \"" SUM_OF_ABC "\", \"size\": 3}]", ""},
        {"[{\"path\": \"a\", \"sha256\": \"" SUM_OF_ABC
         "\", \"size\": 3, \"text\": \"abc\", \"later\": [1]}]",
         ""},
        {"[{\"path\": \"a\", \"sha256\": null, \"text\": null}]", ""},
        {"{}", "expected an array"},
        {"[1]", "expected an object"},
        {"[{}]", "expected a path, found none"},
        {"[{\"path\": null}]", "expected a path, found none"},
        {"[{\"path\": \"a\"}, {\"path\": \"a\"}]", "the same path is given twice"},
        {"[{\"path\": \"a\", \"sha256\": \"abc\"}]", "expected a sha256 of 64 digits"},
        {"[{\"path\": \"a\", \"sha256\": \"" SUM_OF_ABC "0\"}]", "expected a sha256 of 64 digits"},
        {"[{\"path\": \"a\", \"sha256\": "
         "\"BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}]",
         "expected a sha256 of 64 digits"},
        {"[{\"path\": \"a\", \"sha256\": 12}]", "expected a string"},
        {"[{\"path\": \"a\", \"size\": -1}]", "from 0 on"},
        {"[{\"path\": \"a\", \"newer\": 1}]", "true or false"},
        {"[{\"path\": \"a\", \"text\": \"abc\"}]", "a text needs its sha256"},
        {"[{\"path\": \"a\", \"sha256\": \"" SUM_OF_ABC "\", \"size\": 3, \"text\": \"abd\"}]",
         "another sha256"},
        {"[{\"path\": \"a\", \"sha256\": \"" SUM_OF_ABC "\", \"size\": 4, \"text\": \"abc\"}]",
         "another sha256"},
        {"[], \"sources\": []", "given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = refusal(cases[i].sources);
        if (*cases[i].said ? !strstr(said, cases[i].said) : *said)
            fail_msg("%s: expected '%s', found '%s'", cases[i].sources, cases[i].said, said);
    }
}

CASES_WITH(make_folder, remove_folder);
