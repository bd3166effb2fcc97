/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_compare.c - fathom compare: how alike two profiles are, by the papers' metrics.
 *
 * Files with several granularities are compared at one that both have: the one asked for, or the
 * first of A that B has too.
 */
#include "results.h"

#include <string.h>

/* "before.json: ./program": the files tell two runs of one program apart. */
static const char *name_of(const fm_profile *profile, const char *path, char *text, size_t size)
{
    if (strcmp(path, "-") == 0) path = "standard input";
    if (profile->name)
        snprintf(text, size, "%s: %s", path, profile->name);
    else
        snprintf(text, size, "%s", path);
    return text;
}

static void say_accuracy(const fm_profile *profile, char which)
{
    if (profile->exact) return;
    const fm_view_options view = cli_view_options();
    printf("\nAPPROXIMATE: %c is no exact profile: ", which);
    fm_view_text(stdout, profile->accuracy ? profile->accuracy->statement : "nothing is promised", &view);
    printf("\n");
}

static int compare_profiles(const fm_profile *a, const fm_profile *b, char **paths, const char *json)
{
    fm_comparison comparison;
    fm_error error;
    char names[2][4200];
    name_of(a, paths[1], names[0], sizeof names[0]);
    name_of(b, paths[2], names[1], sizeof names[1]);
    if (fm_profile_compare(a, b, &comparison, &error)) return cli_fail(&error);
    if (!json || strcmp(json, "-") != 0) {
        fm_view_comparison(stdout, &comparison, names[0], names[1]);
        for (int i = 0; i < 2; i++)
            if (!(i ? b : a)->complete)
                printf("\nINCOMPLETE: %c covers only part of its input\n", i ? 'B' : 'A');
        for (int i = 0; i < 2; i++) say_accuracy(i ? b : a, i ? 'B' : 'A');
    }
    if (json) {
        fm_output *output;
        if (fm_output_open(&output, json, &error)) return cli_fail(&error);
        fm_view_comparison_json(fm_output_stream(output), &comparison, names[0], names[1]);
        if (fm_output_commit(output, &error)) return cli_fail(&error);
    }
    int code_a = cli_profile_completeness(a, paths[1]), code_b = cli_profile_completeness(b, paths[2]);
    return code_a ? code_a : code_b;
}

int cli_verb_compare(int argc, char **argv)
{
    const char *json = NULL;
    uint64_t granularity = 0;
    const cli_option table[] = {
        {"json", CLI_TO(&json), .help = "write the result as JSON"},
        CLI_SELECT_OPTION(&granularity),
        {"quiet", CLI_TO(&cli_quiet), .help = "no notes"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom compare [options] A B",
        .about = "Says how similar two profiles are: the overlap 1-E/2 of Ding & Zhong, S and its\n"
                 "smoothed form of RDX, the average error of HP-RDA, and the largest and the mean\n"
                 "difference of the two miss-ratio curves. Profiles of different resolution or\n"
                 "bound are brought to what both have; the granularity must be the same.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Example:\n"
                 "  fathom compare exact.json sampled.json\n",
        .least = 2,
        .reads = CLI_READS_PROFILES,
        .most = 2,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (strcmp(argv[1], "-") == 0 && strcmp(argv[2], "-") == 0)
        return cli_misuse("only one of the two profiles can come from standard input");
    fm_profile_list a, b;
    fm_error error;
    if (fm_profile_read(argv[1], &a, &error)) return cli_fail(&error);
    if (fm_profile_read(argv[2], &b, &error)) {
        fm_profile_list_clear(&a);
        return cli_fail(&error);
    }
    const fm_profile *of_a, *of_b;
    code = cli_profile_choose_two(&a, &b, granularity, argv, &of_a, &of_b)
               ? compare_profiles(of_a, of_b, argv, json)
               : CLI_USAGE;
    fm_profile_list_clear(&a);
    fm_profile_list_clear(&b);
    return cli_finish(code);
}
