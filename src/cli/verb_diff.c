/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_diff.c - fathom diff: what got better and worse between two profiles, for people, for comments, for
 * programs; and whether a change may pass.
 */
#include "results.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CONDITIONS = 64, MOST_FOLDERS = 32 };

typedef struct diff_options {
    const char *json, *markdown, *report, *title, *source;
    cli_joined conditions, allowed;
    uint64_t granularity;
    cli_attribution_options attribution; /* sizes, by, top */
} diff_options;

/* The caches that both were made for, else those of before, else this machine's. */
static int find_caches(const diff_options *options, const fm_profile *before, const fm_profile *after,
                       cli_caches *found)
{
    const fm_profile *const of[] = {before, after};
    int code = cli_stored_caches(&options->attribution, before->cache_count ? &of[0] : &of[1], 1, found);
    if (code < 0 && found->count == 0) {
        cli_complain("no cache sizes are known: give them by --size");
        return CLI_FAILED;
    }
    return code;
}

/* Each of --fail-if; separated by commas outside of brackets. -1, or an exit code after a message. */
static int judge_conditions(fm_diff *diff, const char *conditions, bool *failed)
{
    char text[sizeof(cli_joined)];
    size_t length = 0;
    int depth = 0;
    for (const char *at = conditions; *conditions; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at && (*at != ',' || depth > 0)) {
            text[length++] = *at;
            continue;
        }
        text[length] = '\0';
        bool holds;
        fm_error error;
        if (fm_diff_condition(diff, text, &holds, &error)) return cli_misuse("--fail-if: %s", error.reason);
        *failed |= holds;
        length = 0;
        if (!*at) break;
    }
    return -1;
}

/* How to compare them all the same. */
static void note_reasons(const fm_diff *diff)
{
    char list[100] = "";
    const char *kind;
    for (size_t i = 0; fm_diff_incomparable(diff, i, &kind, NULL, 0); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", kind);
    }
    if (list[0]) cli_note("not comparable; --allow %s compares them all the same", list);
}

typedef enum result_kind { JSON, MARKDOWN, PAGE } result_kind;

static int write_file(const char *path, result_kind kind, const fm_diff *diff, const diff_options *options,
                      fm_by by)
{
    fm_output *output;
    fm_error error;
    fm_status status = FM_OK;
    if (!path) return -1;
    if (fm_output_open(&output, path, &error)) return cli_fail(&error);
    FILE *out = fm_output_stream(output);
    if (kind == JSON)
        fm_view_diff_json(out, diff);
    else if (kind == MARKDOWN)
        fm_view_diff_markdown(out, diff, by, options->attribution.top);
    else
        status = fm_view_diff_page(out, diff, options->title, &error);
    if (status) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

static int deliver_diff(const fm_diff *diff, const diff_options *options, fm_by by)
{
    int code = write_file(options->json, JSON, diff, options, by);
    if (code < 0) code = write_file(options->markdown, MARKDOWN, diff, options, by);
    if (code < 0) code = write_file(options->report, PAGE, diff, options, by);
    if (code >= 0 || cli_is_stdout(options->json) || cli_is_stdout(options->markdown) ||
        cli_is_stdout(options->report))
        return code;
    const fm_view_options view = cli_view_options();
    fm_view_diff(stdout, diff, by, options->attribution.top, &view);
    return -1;
}

static int diff_profiles(const fm_profile *before, const fm_profile *after, char **paths,
                         const diff_options *options)
{
    cli_caches *found = calloc(1, sizeof *found);
    char *text = options->source ? strdup(options->source) : NULL;
    const char *folders[MOST_FOLDERS];
    fm_diff *diff = NULL;
    fm_error error;
    bool failed = false;
    fm_by by = FM_BY_LINE;
    if (!found || (options->source && !text)) {
        free(found);
        free(text);
        return cli_out_of_memory();
    }
    fm_diff_options how = {.name_before = paths[1],
                           .name_after = paths[2],
                           .source_folders = folders,
                           .allowed = options->allowed.text};
    int code = cli_split_folders(text, folders, MOST_FOLDERS, &how.source_folder_count);
    if (code < 0) code = cli_parse_by(options->attribution.by, &by);
    const fm_profile *const both[] = {before, after};
    if (code < 0) code = cli_check_profile_sizes(options->attribution.sizes, both, 2);
    if (code < 0) code = find_caches(options, before, after, found);
    how.caches = found->caches;
    how.cache_count = found->count;
    if (code < 0 && fm_diff_create(&diff, before, after, &how, &error)) code = cli_fail(&error);
    if (code < 0) code = judge_conditions(diff, options->conditions.text, &failed);
    if (code < 0) code = deliver_diff(diff, options, by);
    if (code < 0) note_reasons(diff);
    fm_diff_destroy(diff);
    free(text);
    free(found);
    if (code >= 0) return code;
    const int of_before = cli_profile_completeness(before, paths[1]),
              of_after = cli_profile_completeness(after, paths[2]);
    return failed ? CLI_CONDITION : of_before ? of_before : of_after;
}

static int check_options(const diff_options *options, char **paths)
{
    if (cli_is_stdout(paths[1]) && cli_is_stdout(paths[2]))
        return cli_misuse("only one of the two profiles can come from standard input");
    if (cli_is_stdout(options->json) + cli_is_stdout(options->markdown) + cli_is_stdout(options->report) > 1)
        return cli_misuse("only one result can go to standard output");
    if (options->title && !options->report)
        return cli_misuse("--title is about the page that --report writes");
    fm_by by;
    return cli_parse_by(options->attribution.by, &by);
}

int cli_verb_diff(int argc, char **argv)
{
    diff_options options = {.attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"fail-if", CLI_TO(&options.conditions)},
        {"allow", CLI_TO(&options.allowed)},
        {"json", CLI_TO(&options.json), .help = "write all of it as JSON"},
        {"markdown", CLI_TO(&options.markdown)},
        {"report", CLI_TO(&options.report), .help = "write an HTML page, the two sources side by side"},
        {"title", CLI_TO(&options.title)},
        {"source", CLI_TO(&options.source)},
        {"size", CLI_TO(&options.attribution.sizes), .usual = "the profiles'"},
        {"by", CLI_TO(&options.attribution.by)},
        {"top", CLI_TO(&options.attribution.top)},
        CLI_SELECT_OPTION(&options.granularity),
        {"quiet", CLI_TO(&cli_quiet), .help = "no notes"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom diff [options] BEFORE AFTER",
        .about = "What got better and what got worse between two profiles of a program, before and\n"
                 "after a change: misses at each cache, references, and the same by line, function\n"
                 "or data object. Lines are matched through the edit. A change of 0.5 % or less is\n"
                 "none, nor is one within the confidence intervals of sampled profiles. Runs that\n"
                 "ended differently, or of which not the same was seen, are not comparable; then\n"
                 "every condition holds.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete, 4 a condition holds",
        .notes = "A condition is METRIC[@CACHE] [in FUNCTION] OP VALUE. METRIC: misses, late,\n"
                 "ratio, references. OP: >, >=, <, <=. VALUE: +5% against before, +1000 more than\n"
                 "before, 1000 after. FUNCTION *: any.\n"
                 "\n"
                 "Examples:\n"
                 "  fathom diff before.json after.json\n"
                 "  fathom diff --fail-if 'misses@L2 > +5%' --markdown pr.md main.json change.json\n",
        .least = 2,
        .reads = CLI_READS_PROFILES,
        .most = 2,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if ((code = check_options(&options, argv)) >= 0) return code;
    fm_profile_list before, after;
    fm_error error;
    if (fm_profile_read(argv[1], &before, &error)) return cli_fail(&error);
    if (fm_profile_read(argv[2], &after, &error)) {
        fm_profile_list_clear(&before);
        return cli_fail(&error);
    }
    const fm_profile *of_before, *of_after;
    code = cli_profile_choose_two(&before, &after, options.granularity, argv, &of_before, &of_after)
               ? diff_profiles(of_before, of_after, argv, &options)
               : CLI_USAGE;
    fm_profile_list_clear(&before);
    fm_profile_list_clear(&after);
    return cli_finish(code);
}
