/* SPDX-License-Identifier: Apache-2.0 */
/* verb_train.c - fathom train: from profiles of runs with inputs of different sizes to a model of all sizes.
 */
#include "results.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct train_options {
    const char *output, *sizes;
    uint64_t dimensions, granularity;
    double percent;
} train_options;

/* One number for each profile. -1, or an exit code after a message. */
static int parse_sizes(const char *list, double *sizes, size_t count)
{
    char *text = strdup(list), *rest = text;
    size_t found = 0;
    int code = text ? -1 : CLI_FAILED;
    if (!text) cli_complain("out of memory");
    while (code < 0 && rest) {
        char *part = strsep(&rest, ",");
        uint64_t value;
        if (!cli_parse_count(part, &value) || value == 0)
            code = cli_misuse("--data-size: expected numbers such as 1000 or 4K, found '%s'", part);
        else if (found == count)
            code = cli_misuse("--data-size: expected %zu of them, one for each profile, found more", count);
        else
            sizes[found++] = (double)value;
    }
    if (code < 0 && found < count)
        code = cli_misuse("--data-size: expected %zu of them, one for each profile, found %zu", count, found);
    free(text);
    return code;
}

/* -1, or an exit code after a message. */
static int show_expectations(const fm_model *model)
{
    fm_error error;
    const double largest = model->runs[model->run_count - 1].size;
    printf(
        "\nin nine cases of ten, at least this overlap with the actual profile (power-of-two bins), and a\n"
        "number of references that is off by at most this factor\n");
    for (int times = 2; times <= 64 && largest * times < 0x1p60; times *= 4) {
        fm_expectation expected;
        if (fm_model_expect(model, largest * times, &expected, &error)) return cli_fail(&error);
        printf("%4d x the largest run %6.1f %%   %6.2f%s\n", times, floor(expected.overlap * 1000) / 10,
               expected.references_factor, expected.trusted ? "" : "   NOT TRUSTED");
    }
    return -1;
}

static int show_model(const fm_model *model)
{
    printf("model of    %zu runs, data of size", model->run_count);
    for (size_t i = 0; i < model->run_count; i++) printf("%s %.6g", i ? "," : "", model->runs[i].size);
    printf("\ngranularity %" PRIu64 "\ndimensions  %u\n\npattern    share of the reuses   mean mismatch\n",
           model->granularity, model->dimensions);
    for (int g = 0; g < FM_GROWTHS; g++) {
        size_t count = 0;
        double mismatch = 0;
        for (size_t i = 0; i < model->share_count; i++) {
            if (model->shares[i].growth != (fm_growth)g) continue;
            count++;
            mismatch += model->shares[i].mismatch;
        }
        if (count > 0)
            printf("%-10s %18.1f %%   %13.3f\n", fm_growth_name((fm_growth)g),
                   100.0 * (double)count / (double)model->share_count, mismatch / (double)count);
    }
    return show_expectations(model);
}

static int train_model(const fm_profile *const *profiles, size_t count, const train_options *options)
{
    fm_error error;
    fm_model *model;
    double *sizes = calloc(count, sizeof *sizes);
    if (!sizes) return cli_out_of_memory();
    fm_training_options training = {.percent = options->percent,
                                    .dimensions = (unsigned)options->dimensions,
                                    .sizes = options->sizes ? sizes : NULL};
    int code = options->sizes ? parse_sizes(options->sizes, sizes, count) : -1;
    if (code < 0 && fm_model_train(&model, profiles, count, &training, &error))
        code = cli_fail(&error);
    else if (code < 0) {
        if (fm_model_write(options->output, model, &error))
            code = cli_fail(&error);
        else if (strcmp(options->output, "-") != 0)
            code = show_model(model);
        fm_model_destroy(model);
    }
    free(sizes);
    return code < 0 ? CLI_COMPLETE : code;
}

static int train_on_files(char **paths, size_t count, const train_options *options)
{
    fm_profile_list *lists = calloc(count, sizeof *lists);
    const fm_profile **profiles = calloc(count, sizeof *profiles);
    int code = -1;
    if (!lists || !profiles) {
        cli_complain("out of memory");
        code = CLI_FAILED;
    }
    for (size_t i = 0; i < count && code < 0; i++) {
        fm_error error;
        if (fm_profile_read(paths[i], &lists[i], &error)) {
            code = cli_fail(&error);
            break;
        }
        profiles[i] = cli_profile_choose(&lists[i], options->granularity, paths[i]);
        if (!profiles[i]) code = CLI_USAGE;
    }
    if (code < 0) code = train_model(profiles, count, options);
    for (size_t i = 0; i < count && code == CLI_COMPLETE; i++) {
        int completeness = cli_profile_completeness(profiles[i], paths[i]);
        if (completeness != CLI_COMPLETE) code = completeness;
    }
    for (size_t i = 0; lists && i < count; i++) fm_profile_list_clear(&lists[i]);
    free(lists);
    free(profiles);
    return code;
}

int cli_verb_train(int argc, char **argv)
{
    train_options options = {.percent = 0.1};
    const cli_option table[] = {
        {"output", CLI_TO(&options.output), .argument = "MODEL", .help = "the model to write; - is stdout",
         .usual = ""},
        {"data-size", CLI_TO(&options.sizes), .argument = "LIST",
         .help = "of each profile, in any unit: 1000,4K", .usual = "blocks"},
        {"sizes", CLI_OLD("data-size")},
        {"dimensions", CLI_TO(&options.dimensions)},
        {"percent", CLI_TO(&options.percent)},
        CLI_SELECT_OPTION(&options.granularity),
        {"quiet", CLI_TO(&cli_quiet), .help = "no notes"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom train [options] -o MODEL PROFILE PROFILE [PROFILE…]",
        .about = "Finds in profiles of the same program, run with inputs of different sizes, how\n"
                 "distances grow with the size of the data: constant, with a root, or linearly,\n"
                 "for each share of the reuses. fathom predict makes profiles for other sizes.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Example:\n"
                 "  fathom run --json small.json -- ./solve 100\n"
                 "  fathom run --json large.json -- ./solve 200\n"
                 "  fathom train -o solve.model small.json large.json\n"
                 "  fathom predict solve.model --data-size 1M --json huge.json\n",
        .least = 2,
        .reads = CLI_READS_PROFILES,
        .most = 1000,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (!options.output) return cli_misuse("-o is missing: where should the model go?");
    if (options.dimensions > 3) return cli_misuse("--dimensions: expected 1, 2 or 3");
    if (!(options.percent >= 0.001 && options.percent <= 50))
        return cli_misuse("--percent: expected a number from 0.001 to 50");
    return cli_finish(train_on_files(argv + 1, count, &options));
}
