/* SPDX-License-Identifier: Apache-2.0 */
/* test_view_files.c - what is written for other programs, read back by jansson and by hand. */
#include "case.h"

#include <fathom/view.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static fm_bin bins[] = {{0, 0, 500}, {3, 3, 250}, {700, 700, 150}};

static fm_profile sample(void)
{
    return (fm_profile){.name = (char *)"</script><!-- \xe2\x80\xa8 & \xff",
                        .engine = (char *)"exact",
                        .exact = true,
                        .granularity = 64,
                        .references = 1000,
                        .distinct = 100,
                        .cold = 100,
                        .cold_known = true,
                        .bins = FM_BINS_EXACT,
                        .distances = {3, bins},
                        .complete = true};
}

CASE(csv_has_every_edge)
{
    fm_profile profile = sample();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(fm_view_curve_csv(out, &profile, NULL), FM_OK);
    fclose(out);
    assert_string_equal(text, "cache_blocks,cache_bytes,misses,miss_ratio\n"
                              "0,0,1000,1\n"
                              "1,64,500,0.5\n"
                              "3,192,500,0.5\n"
                              "4,256,250,0.25\n"
                              "700,44800,250,0.25\n"
                              "701,44864,100,0.1\n");
    free(text);
}

CASE(json_has_curve_and_caches)
{
    fm_profile profile = sample();
    static const fm_cache caches[] = {{.name = "L1d", .bytes = 32768, .line = 64, .ways = 8, .shared_by = 2},
                                      {.name = "64K", .bytes = 65536}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(fm_view_curve_json(out, &profile, caches, 2, NULL), FM_OK);
    fclose(out);
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    assert_int_equal(json_integer_value(json_object_get(tree, "references")), 1000);
    const json_t *curve = json_object_get(tree, "curve"), *both = json_object_get(tree, "caches");
    assert_int_equal(json_array_size(curve), 6);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(curve, 5), 0)), 701);
    assert_true(json_number_value(json_array_get(json_array_get(curve, 5), 2)) == 0.1);
    const json_t *first = json_array_get(both, 0), *second = json_array_get(both, 1);
    assert_true(json_number_value(json_object_get(first, "miss_ratio")) == 0.25);
    assert_int_equal(json_integer_value(json_object_get(first, "sets")), 64);
    double estimate = fm_profile_misses_associative(&profile, 64, 8) / 1000;
    assert_true(json_number_value(json_object_get(first, "miss_ratio_set_associative_estimate")) == estimate);
    assert_true(json_number_value(json_object_get(second, "miss_ratio")) == 0.1);
    assert_null(json_object_get(second, "ways"));
    json_decref(tree);
    free(text);
}

CASE(a_comparison_is_read_back)
{
    fm_comparison comparison = {.overlap = 0.1 + 0.2,
                                .overlap_log2 = 0.7,
                                .similarity = 1.0 / 3,
                                .similarity_smoothed = 0.5,
                                .average_error = 1e-300,
                                .curve_largest = NAN,
                                .curve_largest_at = 12345678901234,
                                .curve_mean = 0.25};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fm_view_comparison_json(out, &comparison, "a\"b", NULL);
    fclose(out);
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    assert_string_equal(json_string_value(json_object_get(tree, "a")), "a\"b");
    assert_true(json_is_null(json_object_get(tree, "b")));
    assert_true(json_number_value(json_object_get(tree, "overlap")) == 0.1 + 0.2); /* to the last bit */
    assert_true(json_number_value(json_object_get(tree, "overlap_log2")) == 0.7);
    assert_true(json_number_value(json_object_get(tree, "similarity")) == 1.0 / 3);
    assert_true(json_number_value(json_object_get(tree, "average_error")) == 1e-300);
    assert_true(json_is_null(json_object_get(tree, "curve_largest")));
    assert_int_equal(json_integer_value(json_object_get(tree, "curve_largest_at")), 12345678901234);
    json_decref(tree);
    free(text);

    out = open_memstream(&text, &size);
    fm_view_comparison(out, &comparison, "first", "sec\x1bond");
    fclose(out);
    assert_non_null(strstr(text, "A  first"));
    assert_non_null(strstr(text, "B  sec\\x1bond"));
    assert_non_null(strstr(text, "0.300000"));
    assert_non_null(strstr(text, "12,345,678,901,234 blocks"));
    free(text);
}

/* Inside a script element nothing may look like markup, whatever a name holds. */
CASE(html_sees_no_markup_in_json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fm_json_write_string(out, sample().name, FM_JSON_IN_HTML);
    fclose(out);
    assert_string_equal(text,
                        "\"\\u003c/script\\u003e\\u003c!-- \\u003cU+2028\\u003e \\u0026 \xEF\xBF\xBD\"");
    free(text);
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) count++;
    return count;
}

CASE(the_report_is_one_whole_page)
{
    fm_profile profile = sample();
    const fm_profile *const one[] = {&profile};
    fm_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fm_status status = fm_report_write(out, "<b>&", one, 1, NULL, 0, &error);
    fclose(out);
    if (!fm_report_available()) {
        assert_int_equal(status, FM_E_UNSUPPORTED);
        assert_non_null(strstr(error.reason, "FATHOM_REPORT=OFF"));
        free(text);
        return;
    }
    assert_int_equal(status, FM_OK);
    assert_non_null(strstr(text, "<title>&lt;b&gt;&amp;</title>"));
    assert_null(strstr(text, "@@")); /* every part was put in */
    assert_null(strstr(text, "<!--"));
    assert_int_equal(occurrences(text, "</script>"), 2); /* the template's own: data and the page's */
    assert_null(strstr(text, "src=\""));                 /* nothing is loaded */
    assert_non_null(strstr(text, "</html>"));
    const char *begin = strstr(text, "id=\"data\">"), *end = strstr(begin, "</script>");
    json_t *tree = json_loadb(begin + 10, (size_t)(end - begin - 10), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    const json_t *shown = json_array_get(json_object_get(tree, "profiles"), 0);
    assert_string_equal(json_string_value(json_object_get(shown, "name")),
                        "</script><!-- <U+2028> & \xEF\xBF\xBD");
    assert_int_equal(json_array_size(json_object_get(shown, "histogram")), 3);
    json_decref(tree);
    free(text);
    assert_int_equal(fm_report_write(stdout, NULL, one, 0, NULL, 0, &error), FM_E_ARGUMENT);
}

/* A million exact bins do not go into a page one by one; the sum stays. */
CASE(a_long_histogram_is_coarsened)
{
    if (!fm_report_available()) {
        print_message("SKIP: this build has no report page\n");
        skip();
    }
    enum { MANY = 1000000 };
    fm_profile profile = sample();
    profile.distances.bins = malloc(MANY * sizeof(fm_bin));
    for (uint64_t i = 0; i < MANY; i++) profile.distances.bins[i] = (fm_bin){i, i, 2};
    profile.distances.count = MANY;
    profile.references = 100 + 2 * MANY;
    const fm_profile *const one[] = {&profile};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(fm_report_write(out, NULL, one, 1, NULL, 0, NULL), FM_OK);
    fclose(out);
    assert_true(size < 400000);
    const char *begin = strstr(text, "id=\"data\">"), *end = strstr(begin, "</script>");
    json_t *tree = json_loadb(begin + 10, (size_t)(end - begin - 10), 0, NULL);
    const json_t *shown = json_array_get(json_object_get(tree, "profiles"), 0);
    assert_true(json_is_true(json_object_get(shown, "coarsened")));
    json_int_t sum = 0;
    size_t index;
    json_t *bin;
    json_array_foreach(json_object_get(shown, "histogram"), index, bin) sum +=
        json_integer_value(json_array_get(bin, 2));
    assert_int_equal(sum, 2 * MANY);
    json_decref(tree);
    free(text);
    free(profile.distances.bins);
}
