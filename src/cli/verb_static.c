/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_static.c - fathom static: the profile of loops in source code, without running them; and how often
 * they do what.
 *
 * It opens a region, gives its parameters their values, has it analysed and joins the result with views.
 */
#define _GNU_SOURCE
#include "attribution_output.h"
#include "cli.h"
#include "static_text.h"
#include "static_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PARAMETERS = 64, MOST_FLAGS = 256, MOST_ASSUMPTIONS = 64, MOST_STATIC_THREADS = 1024 };

typedef struct static_options {
    const char *function, *language, *layout, *bins, *method, *json, *report, *ir;
    cli_joined parameters, assumptions;
    uint64_t granularity, threads, samples;
    double limit;
    bool scalars, counts, verify, progress;
    cli_attribution_options attribution;
} static_options;

/* "n=1000": where the name ends, and the value. */
typedef struct given {
    char *name;
    int64_t value;
    bool used;
} given;

typedef struct static_run {
    const static_options *options;
    const char *path;
    given parameters[MOST_PARAMETERS];
    size_t parameter_count;
    char *texts[2]; /* that the above point into */
    const char *assumptions[MOST_ASSUMPTIONS + 1];
    const char *flags[MOST_FLAGS + MOST_PARAMETERS + 1];
    size_t flag_count;
    char defines[MOST_PARAMETERS][96];
    fm_layout layout;
    fm_bins bins;
    unsigned threads;
    fm_region *region;
    cli_attribution_caches caches;
    uint64_t edges[CLI_MOST_EDGES];
    size_t edge_count;
    fm_region_counts counts;
    bool counted;
    fm_profile *profile;
    double began;
} static_run;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}

/* ---- options ---- */

static int split_parameters(static_run *run, const char *all)
{
    if (!all[0]) return -1;
    char *rest = run->texts[0] = strdup(all);
    if (!rest) return out_of_memory();
    while (rest) {
        char *name = strsep(&rest, ","), *value = strchr(name, '='), *end;
        if (run->parameter_count == MOST_PARAMETERS)
            return cli_misuse("--param: at most %d parameters", MOST_PARAMETERS);
        if (!value || value == name) return cli_misuse("--param: expected NAME=VALUE, found '%s'", name);
        *value++ = '\0';
        errno = 0;
        long long number = strtoll(value, &end, 0);
        if (end == value || *end || errno)
            return cli_misuse("--param %s: expected a whole number, found '%s'", name, value);
        for (size_t i = 0; i < run->parameter_count; i++)
            if (strcmp(run->parameters[i].name, name) == 0 && run->parameters[i].value != number)
                return cli_misuse("--param %s: given twice, with different values", name);
        run->parameters[run->parameter_count++] = (given){.name = name, .value = number};
    }
    return -1;
}

static int split_assumptions(static_run *run, const char *all)
{
    if (!all[0]) return -1;
    char *rest = run->texts[1] = strdup(all);
    if (!rest) return out_of_memory();
    for (size_t count = 0; rest; count++) {
        if (count == MOST_ASSUMPTIONS) return cli_misuse("--assume: at most %d", MOST_ASSUMPTIONS);
        run->assumptions[count] = strsep(&rest, ",");
    }
    return -1;
}

static int check(static_run *run)
{
    const static_options *options = run->options;
    int code = cli_attribution_check(&options->attribution, options->json);
    if (code >= 0) return code;
    uint64_t size = options->granularity;
    if (size == 0 || (size & (size - 1)) || size > UINT64_C(1) << 40)
        return cli_misuse("--granularity: expected a power of two, found %" PRIu64, size);
    if (options->layout && strcmp(options->layout, "contiguous") == 0)
        run->layout = FM_LAYOUT_CONTIGUOUS;
    else if (options->layout && strcmp(options->layout, "aligned") == 0)
        run->layout = FM_LAYOUT_ALIGNED;
    else if (options->layout)
        return cli_misuse("--layout: expected contiguous or aligned, found '%s'", options->layout);
    if (options->bins && !fm_bins_from_name(options->bins, &run->bins))
        return cli_misuse("--bins: expected loglinear, log2 or exact, found '%s'", options->bins);
    bool known = !options->method || strcmp(options->method, "walk") == 0;
    for (size_t i = 0; !known && fm_static_method_at(i, NULL); i++)
        known = strcmp(options->method, fm_static_method_at(i, NULL)) == 0;
    if (!known) return cli_misuse("--method: there is no method '%s'", options->method);
    if (!(options->limit > 0)) return cli_misuse("--limit-time: expected a number of seconds above 0");
    if ((code = cli_check_threads(options->threads, MOST_STATIC_THREADS)) >= 0) return code;
    run->threads = options->threads == UINT64_MAX ? cli_processors() : (unsigned)options->threads;
    if (run->threads == 0) run->threads = 1;
    if ((code = split_parameters(run, options->parameters.text)) >= 0) return code;
    return split_assumptions(run, options->assumptions.text);
}

/* ---- the region ---- */

static fm_status open_region(static_run *run, fm_error *error)
{
    const fm_region_options options = {
        .language = run->options->language,
        .function = run->options->function,
        .flags = run->flags,
        .scalars = run->options->scalars,
        .assumptions = run->assumptions,
    };
    return fm_region_open(&run->region, run->path, &options, error);
}

static bool has_parameter(const fm_region *region, const char *name)
{
    for (size_t i = 0; i < fm_region_parameter_count(region); i++)
        if (strcmp(fm_region_parameter_name(region, i), name) == 0) return true;
    return false;
}

/* Names that the region does not have may be macros of the source: it is read once more with them. */
static bool define_the_others(static_run *run)
{
    bool any = false;
    for (size_t i = 0; i < run->parameter_count; i++) {
        given *parameter = &run->parameters[i];
        if (run->region && has_parameter(run->region, parameter->name)) continue;
        int length = snprintf(run->defines[i], sizeof run->defines[i], "-D%s=%" PRId64, parameter->name,
                              parameter->value);
        if (length < 0 || (size_t)length >= sizeof run->defines[i]) continue;
        run->flags[run->flag_count++] = run->defines[i];
        parameter->used = true;
        any = true;
    }
    return any;
}

static bool is_text_form(const static_run *run)
{
    const char *dot = strrchr(run->path, '.');
    return run->options->language ? strcmp(run->options->language, "fir") == 0
                                  : dot && strcmp(dot, ".fir") == 0;
}

static int read_region(static_run *run)
{
    fm_error error;
    fm_status status = open_region(run, &error);
    /* A source may not compile without its macros. */
    if ((status == FM_OK || status == FM_E_FORMAT || status == FM_E_UNSUPPORTED) && !is_text_form(run) &&
        define_the_others(run)) {
        fm_region *before = run->region;
        fm_error again;
        run->region = NULL;
        fm_status second = open_region(run, &again);
        if (second != FM_OK) { /* the names were no macros: the first message is the better one */
            run->region = before;
            if (status == FM_OK)
                for (size_t i = 0; i < run->parameter_count; i++) run->parameters[i].used = false;
        } else {
            fm_region_destroy(before);
            status = FM_OK;
        }
    }
    if (status != FM_OK) return cli_fail(&error);
    for (size_t i = 0; i < run->parameter_count; i++) {
        const given *parameter = &run->parameters[i];
        if (parameter->used && !has_parameter(run->region, parameter->name)) continue;
        if (fm_region_set_parameter(run->region, parameter->name, parameter->value, &error))
            return cli_fail(&error);
    }
    return -1;
}

/* The open parameters, "n, m"; "" where there are none. */
static const char *list_open(const fm_region *region, char *text, size_t size)
{
    int64_t value;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < fm_region_parameter_count(region) && used < size; i++)
        if (!fm_region_parameter_value(region, i, &value))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     fm_region_parameter_name(region, i));
    return text;
}

/* ---- the analysis ---- */

static uint64_t accesses_of(const static_run *run)
{
    if (!run->counted) return 0;
    uint64_t loads = strtoull(run->counts.loads, NULL, 10), stores = strtoull(run->counts.stores, NULL, 10),
             sum;
    return __builtin_add_overflow(loads, stores, &sum) ? UINT64_MAX : sum;
}

/* Arrays are told where references miss the smallest cache. */
static uint64_t late_from(const static_run *run)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < run->caches.count; i++)
        if (run->caches.caches[i].bytes / run->options->granularity < least)
            least = run->caches.caches[i].bytes / run->options->granularity;
    return least == UINT64_MAX ? 0 : least;
}

/* Every access. *profile stays NULL where the time is over (and *over is true). */
static int walk_all(static_run *run, double limit, fm_profile **profile, bool *over)
{
    const cli_walk_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .threads = run->threads,
        .edges = run->edges,
        .edge_count = run->edge_count,
        .limit_seconds = limit,
        .accesses = accesses_of(run),
        .progress = run->options->progress,
    };
    fm_error error;
    fm_raw_pair *pairs;
    size_t count;
    fm_status status = cli_walk(run->region, &how, profile, &pairs, &count, &error);
    *over = status == FM_E_LIMIT;
    if (*over) return -1;
    if (status != FM_OK) return cli_fail(&error);
    status = fm_region_attribute(run->region, pairs, count, run->edges, run->edge_count, late_from(run),
                                 &(*profile)->attribution, &error);
    free(pairs);
    return status == FM_OK ? -1 : cli_fail(&error);
}

/* Where the code is, and what it does; how sure the profile is was said by whoever made it. */
static int label(static_run *run, fm_profile *profile, const char *certainty, const char *method)
{
    fm_kernel *kernel = cli_kernel_create(run->region, run->counted ? &run->counts : NULL);
    if (!kernel) return out_of_memory();
    if (profile->kernel) {
        certainty = profile->kernel->certainty;
        method = profile->kernel->method;
    }
    kernel->layout = strdup(run->layout == FM_LAYOUT_ALIGNED ? "aligned" : "contiguous");
    kernel->certainty = strdup(certainty);
    kernel->method = strdup(method);
    kernel->seconds = now() - run->began;
    fm_kernel_destroy(profile->kernel);
    profile->kernel = kernel;
    free(profile->engine);
    free(profile->name);
    profile->engine = strdup("static");
    profile->name = kernel->function ? NULL : strdup(run->path);
    if (kernel->function && asprintf(&profile->name, "%s: %s", run->path, kernel->function) < 0)
        profile->name = NULL;
    return kernel->layout && kernel->certainty && kernel->method && profile->engine && profile->name
               ? -1
               : out_of_memory();
}

static int work_off(static_run *run, double limit, bool *over)
{
    fm_profile *profile = NULL;
    int code = walk_all(run, limit, &profile, over);
    if (code < 0 && profile)
        code = label(run, profile, "exact", "every access worked out, one after the other");
    if (code >= 0 || !profile) {
        fm_profile_destroy(profile);
        return code;
    }
    fm_profile_destroy(run->profile);
    run->profile = profile;
    return -1;
}

static int compute(static_run *run)
{
    const fm_static_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .edges = run->edges,
        .edge_count = run->edge_count,
        .late_from = late_from(run),
        .limit_seconds = run->options->limit,
        .samples = run->options->samples,
        .seed = 1,
        .method = run->options->method,
    };
    fm_error error;
    if (fm_region_profile(run->region, &how, &run->profile, &error)) return cli_fail(&error);
    return label(run, run->profile, NULL, NULL);
}

/*
 * Regions with few accesses are worked off: nothing is surer. For the others the library is asked; where it
 * has no exact answer, and the time allowed is enough, they are worked off all the same.
 */
static int find_profile(static_run *run)
{
    enum { FEW = 200000000, PER_SECOND = 30000000 }; /* accesses */
    const char *method = run->options->method;
    const uint64_t accesses = accesses_of(run);
    bool over = false;
    if (method ? strcmp(method, "walk") == 0 : run->counted && accesses <= FEW) {
        int code = work_off(run, run->options->limit, &over);
        if (code >= 0 || !over) return code;
        if (method) {
            cli_complain("working all accesses off takes longer than the %g s that --limit-time allows",
                         run->options->limit);
            return CLI_FAILED;
        }
    }
    int code = compute(run);
    if (code >= 0 || method || over || run->profile->exact || !run->counted) return code;
    const double left = run->options->limit - (now() - run->began);
    return (double)accesses / PER_SECOND < left ? work_off(run, left, &over) : code;
}

/* ---- --verify ---- */

static double largest_difference(const fm_profile *a, const fm_profile *b)
{
    fm_comparison comparison;
    fm_error error;
    return fm_profile_compare(a, b, &comparison, &error) == FM_OK ? comparison.curve_largest : 1;
}

static bool same(const fm_profile *a, const fm_profile *b)
{
    return a->references == b->references && a->cold == b->cold && a->distances.count == b->distances.count &&
           memcmp(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin)) == 0;
}

/* Against a walk over all accesses, analysed as a program's references are. */
static int verify(static_run *run)
{
    fm_profile *judge = NULL;
    bool over;
    int code = walk_all(run, 0, &judge, &over);
    if (code >= 0) return code;
    const fm_profile *profile = run->profile;
    const double band =
        profile->accuracy && profile->accuracy->band_count ? profile->accuracy->confidence : 0;
    if (same(profile, judge)) {
        cli_note("verified: equal to a walk over all %" PRIu64 " references, bin by bin", judge->references);
    } else if (!profile->exact && band > 0 && profile->references == judge->references &&
               profile->cold == judge->cold) {
        cli_note(
            "verified: references and first touches are equal to those of a walk; the largest difference of "
            "the miss ratios is %.3f %%",
            100 * largest_difference(profile, judge));
    } else {
        cli_complain("the walk over all accesses has another result: %" PRIu64 " references and %" PRIu64
                     " first touches, here %" PRIu64 " and %" PRIu64
                     "; the histograms differ. This is an error of "
                     "fathom",
                     judge->references, judge->cold, profile->references, profile->cold);
        code = CLI_FAILED;
    }
    fm_profile_destroy(judge);
    return code;
}

static int analyze(static_run *run)
{
    int code = cli_attribution_find_caches(&run->options->attribution, &run->caches);
    if (code >= 0) return code;
    run->edge_count = cli_attribution_edges(&run->caches, run->options->granularity, run->edges);
    code = find_profile(run);
    if (code < 0 && run->options->verify) code = verify(run);
    if (code < 0) code = cli_attribution_record_sources(&run->options->attribution, run->profile);
    return code;
}

/* ---- results ---- */

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int write_page(const static_run *run)
{
    fm_error error;
    fm_output *output;
    const fm_profile *profile = run->profile;
    const fm_report_options page = {.title = profile->name};
    if (fm_output_open(&output, run->options->report, &error)) return cli_fail(&error);
    fm_status status = fm_report_write_page(fm_output_stream(output), &page, &profile, 1, run->caches.caches,
                                            run->caches.count, &error);
    if (status == FM_OK)
        status = fm_output_commit(output, &error);
    else
        fm_output_abandon(output);
    return status == FM_OK ? -1 : cli_fail(&error);
}

static int deliver(const static_run *run)
{
    const static_options *options = run->options;
    const fm_profile *profile = run->profile;
    fm_error error;
    int code = -1;
    if (options->json && fm_profile_write(options->json, &profile, 1, &error)) return cli_fail(&error);
    if (profile->attribution) code = cli_attribution_write(&options->attribution, profile, &run->caches);
    if (code < 0 && options->report) code = write_page(run);
    if (code >= 0 || is_stdout(options->json) || is_stdout(options->report) ||
        cli_attribution_takes_stdout(&options->attribution))
        return code;
    fm_view_options view = cli_view_options();
    fm_view_histogram(stdout, profile, &view);
    if (run->caches.count > 0) {
        printf("\n");
        fm_view_caches(stdout, profile, run->caches.caches, run->caches.count, &view);
    }
    return cli_attribution_show(stdout, &view, &options->attribution, profile, &run->caches);
}

static int write_region(const static_run *run)
{
    fm_error error;
    fm_output *output;
    if (fm_output_open(&output, run->options->ir, &error)) return cli_fail(&error);
    if (fm_region_write(run->region, fm_output_stream(output), &error)) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

static int work(static_run *run)
{
    char open[256];
    fm_error error;
    int code = read_region(run);
    if (code >= 0) return code;
    for (size_t i = 0; fm_region_note(run->region, i); i++) cli_note("%s", fm_region_note(run->region, i));
    if (run->options->ir) {
        code = write_region(run);
        return code < 0 ? CLI_COMPLETE : code;
    }
    list_open(run->region, open, sizeof open);
    if (open[0] && !run->options->counts)
        return cli_misuse(
            "%s: no value: give it by --param NAME=VALUE, or ask for --counts, which are formulas", open);
    fm_status status = fm_region_count(run->region, run->options->limit, &run->counts, &error);
    run->counted = status == FM_OK;
    if (status != FM_OK && (run->options->counts || status != FM_E_LIMIT)) return cli_fail(&error);
    if (run->options->counts) {
        cli_counts_show(stdout, run->region, &run->counts);
        return CLI_COMPLETE;
    }
    code = analyze(run);
    if (code < 0) code = deliver(run);
    return code < 0 ? CLI_COMPLETE : code;
}

int cli_verb_static(int argc, char **argv)
{
    static_options options = {
        .granularity = 64, .threads = UINT64_MAX, .limit = 60, .attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"function", 0, CLI_STRING, &options.function, "NAME",
         "the region is the body of this function (default: what is\nbetween #pragma scop and #pragma "
         "endscop, or "
         "the only function\nwith loops)"},
        {"param", 'D', CLI_JOIN, &options.parameters, "NAME=VALUE",
         "a parameter of the region, or a macro of the source; several\nas n=100,m=20 or by several --param"},
        {"granularity", 'g', CLI_COUNT, &options.granularity, "BYTES",
         "block size, a power of two (default 64)"},
        {"layout", 0, CLI_STRING, &options.layout, "NAME",
         "contiguous (default): rows follow each other, as in memory;\naligned: every row begins a new "
         "block, as "
         "other models have it"},
        {"scalars", 0, CLI_FLAG, &options.scalars, NULL,
         "scalar variables are in memory (default: in registers)"},
        {"assume", 0, CLI_JOIN, &options.assumptions, "TEXT",
         "what the source does not tell (see the manual); the result\ncarries it"},
        {"counts", 0, CLI_FLAG, &options.counts, NULL,
         "only how often statements load, store and compute: numbers, or\nformulas of parameters that have "
         "no "
         "value"},
        {"bins", 0, CLI_STRING, &options.bins, "NAME",
         "histogram resolution: loglinear (default), log2, exact"},
        {"json", 'j', CLI_STRING, &options.json, "FILE", "write the profile as JSON; - for standard output"},
        {"report", 0, CLI_STRING, &options.report, "FILE", "write the HTML page of the profile"},
        CLI_ATTRIBUTION_OPTIONS(&options.attribution),
        {"emit-ir", 0, CLI_STRING, &options.ir, "FILE",
         "only write the region as text, which fathom static reads too;\n- for standard output"},
        {"language", 0, CLI_STRING, &options.language, "NAME",
         "c, c++, fortran, fir (default: by the name's ending)"},
        {"method", 0, CLI_STRING, &options.method, "NAME",
         "walk: every access; sample: some of them (default: the surest\nthat is done in time)"},
        {"samples", 0, CLI_COUNT, &options.samples, "N",
         "accesses that are drawn where it is sampled (default 10000)"},
        {"verify", 0, CLI_FLAG, &options.verify, NULL, "compare the result with a walk over all accesses"},
        {"limit-time", 0, CLI_REAL, &options.limit, "SECONDS", "for the exact analysis (default 60)"},
        {"threads", 0, CLI_COUNT, &options.threads, "N",
         "threads that analyse (default: one for each processor)"},
        {"quiet", 'q', CLI_FLAG, &cli_quiet, NULL, "no progress, no notes"},
        {"progress", 0, CLI_FLAG, &options.progress, NULL,
         "progress also when standard error is no terminal"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom static [options] FILE [-- COMPILER FLAGS]",
        .about = "The reuse-distance profile of loops in source code, without running them: C and C++,\n"
                 "Fortran, or a region's text form (.fir). Bounds and subscripts must be affine; what is\n"
                 "not is refused, with its line.",
        .options = table,
        .notes = "Examples:\n"
                 "  fathom static gemm.c --function gemm --param n=1000\n"
                 "  fathom static --counts stencil.f90\n"
                 "  fathom static blur.c --param width=2000 -- -Iinclude -O2\n",
        .least = 1,
        .most = 1,
    };
    static_run run = {.options = &options, .began = now()};
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0) own++;
    for (int i = own + 1; i < argc; i++) {
        if (run.flag_count == MOST_FLAGS) return cli_misuse("at most %d compiler flags", MOST_FLAGS);
        run.flags[run.flag_count++] = argv[i];
    }
    size_t count;
    int code = cli_parse(&command, own, argv, &count);
    if (code >= 0) return code;
    run.path = argv[1];
    code = check(&run);
    if (code < 0) code = work(&run);
    if (run.counted) fm_region_counts_clear(&run.counts);
    fm_profile_destroy(run.profile);
    fm_region_destroy(run.region);
    free(run.texts[0]);
    free(run.texts[1]);
    return cli_finish(code);
}
