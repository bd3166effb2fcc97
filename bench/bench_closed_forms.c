/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_closed_forms.c - every distance of 10^8 references right, on traces whose answers are known in
 * closed form (tests/oracle/closed_forms.h). Correctness at a size that `make test` has no time for.
 *
 *     bench_closed_forms [--references 100M] [--keys 1M,20M] [--contenders exact,tree]
 */
#include "contender.h"
#include "engine/engine_tables.h"
#include "oracle/closed_forms.h"

#include <getopt.h>
#include <string.h>

enum { MOST_CONTENDERS = 8, MOST_SIZES = 8 };

static const char *names[MOST_CONTENDERS];
static size_t contenders;

/* One row of the table; returns how many contenders were wrong. */
static int check(const closed_form *form, uint64_t keys, uint64_t bound, uint64_t references)
{
    int failures = 0;
    printf("| %s | %" PRIu64 " | %" PRIu64 " |", form->name, keys, bound);
    for (size_t c = 0; c < contenders; c++) {
        contender who = contender_named(names[c]);
        const fm_engine_ops *engine = who.engine ? fm_engine_find(who.engine->name) : NULL;
        if (!engine) bench_die("%s is not an engine", names[c]);
        fm_engine_options options = {.bound = bound, .seed = 5, .isa = who.isa, .time_distances = true};
        int wrong = closed_form_check(form, engine, options, keys, references);
        failures += wrong != 0;
        printf(" %s |", wrong ? "WRONG" : "right");
        fflush(stdout);
        bench_line("bench=closed_forms trace=%s keys=%" PRIu64 " references=%" PRIu64 " bound=%" PRIu64
                   " contender=%s right=%d",
                   form->name, keys, references, bound, names[c], !wrong);
    }
    printf("\n");
    return failures;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"keys", required_argument, NULL, 'k'},
                                            {"contenders", required_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 100000000;
    char default_contenders[] = "exact,tree", *chosen = default_contenders;
    char default_sizes[] = "1M,20M", *chosen_sizes = default_sizes;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'k':
            chosen_sizes = optarg;
            break;
        case 'c':
            chosen = optarg;
            break;
        default:
            return 2;
        }
    const char *sizes[MOST_SIZES];
    size_t size_count = bench_split(chosen_sizes, sizes, MOST_SIZES);
    contenders = bench_split(chosen, names, MOST_CONTENDERS);
    int failures = 0;
    printf("Every distance and time distance against its closed form: %.0f M references.\n\n",
           (double)references / 1e6);
    printf("| trace | keys | bound |");
    for (size_t c = 0; c < contenders; c++) printf(" %s |", names[c]);
    printf("\n|---|--:|--:|");
    for (size_t c = 0; c < contenders; c++) printf("---|");
    printf("\n");
    for (size_t s = 0; s < size_count; s++)
        for (size_t f = 0; f < CLOSED_FORMS; f++) {
            uint64_t keys = bench_count(sizes[s]);
            bool has_keys =
                strcmp(closed_forms[f].name, "cyclic") == 0 || strcmp(closed_forms[f].name, "sawtooth") == 0;
            if (s > 0 && !has_keys) continue;
            failures += check(&closed_forms[f], keys, 0, references);
            /* Under a bound only where an engine remembers all blocks: otherwise cold is not known. */
            if (has_keys && keys <= FM_SEEN_LIMIT)
                failures += check(&closed_forms[f], keys, keys / 2, references);
        }
    return failures || fflush(stdout) ? 1 : 0;
}
