/* SPDX-License-Identifier: Apache-2.0 */
/* test_view_callgrind.c - callgrind_annotate reads our file and shows, line by line and function by function,
 * what a naive sum over all pairs gives. */
#define _GNU_SOURCE
#include "case.h"
#include "random.h"

#include <fathom/view.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "attribution_samples.h"

static char folder[] = "/tmp/fathom-callgrind-XXXXXX";
static char path[128], sources[2][128];
enum { LINES = 40 };

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/out.callgrind", folder);
    for (int f = 0; f < 2; f++) {
        snprintf(sources[f], sizeof sources[f], "%s/source%d.c", folder, f);
        FILE *file = fopen(sources[f], "w");
        if (!file) return -1;
        for (int line = 1; line <= LINES; line++) fprintf(file, "text of line %d\n", line);
        if (fclose(file)) return -1;
    }
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(sources[0]);
    unlink(sources[1]);
    return rmdir(folder);
}

static const fm_cache caches[] = {{.name = "L1d", .bytes = 32 << 10},
                                  {.name = "L2", .bytes = 1310720},
                                  {.name = "L3", .bytes = 4 << 20},
                                  {.name = "L4", .bytes = 16 << 20}};

static void write_file(const fm_profile *profile, size_t cache_count)
{
    FILE *out = fopen(path, "w");
    fm_error error;
    assert_non_null(out);
    if (fm_view_callgrind(out, profile, caches, cache_count, &error)) fail_msg("%s", error.reason);
    assert_int_equal(fclose(out), 0);
}

static bool annotate_is_here(void)
{
    if (system("command -v callgrind_annotate >/dev/null") == 0) return true;
    print_message("SKIP: callgrind_annotate is not installed\n");
    return false;
}

/* What callgrind_annotate says, all of it. Its complaints count as output. */
__attribute__((noinline)) static char *annotated(const char *options)
{
    char command[512], *text = NULL;
    size_t size = 0;
    snprintf(command, sizeof command, "cd / && callgrind_annotate --show-percs=no --threshold=100 %s %s 2>&1",
             options, path);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    ssize_t length = getdelim(&text, &size, '\0', from);
    assert_int_equal(pclose(from), 0);
    assert_true(length > 0);
    assert_null(strstr(text, "WARNING"));
    return text;
}

/* "1,234 . 5 6  rest": four numbers, then the rest. False: the line is another one. */
static bool parse_line(const char *line, uint64_t numbers[4], const char **rest)
{
    for (int i = 0; i < 4; i++) {
        line += strspn(line, " ");
        numbers[i] = 0;
        if (*line == '.') {
            line++;
        } else {
            if (*line < '0' || *line > '9') return false;
            for (; (*line >= '0' && *line <= '9') || *line == ','; line++)
                if (*line != ',') numbers[i] = numbers[i] * 10 + (uint64_t)(*line - '0');
        }
        if (*line != ' ') return false;
    }
    *rest = line + strspn(line, " *<>");
    return true;
}

typedef struct sums {
    uint64_t of[4];
} sums;

/* What one pair costs. */
static sums cost_of(const fm_pair *pair, size_t cache_count)
{
    const size_t which[3] = {0, cache_count > 1 ? 1 : 0, cache_count - 1};
    sums cost = {{pair->count}};
    for (int i = 0; i < 3; i++) cost.of[i + 1] = (uint64_t)fm_pair_misses(pair, caches[which[i]].bytes / 64);
    return cost;
}

static void add(sums *to, sums more)
{
    for (int i = 0; i < 4; i++) to->of[i] += more.of[i];
}

static const char *const functions[] = {"alpha", "beta(int)", "(anonymous namespace)::gamma",
                                        "ns::delta<int, (3)>::f"};

static fm_profile *random_profile(void)
{
    enum { SITES = 60 };
    fm_attribution *made = sample_attribution(2, SITES, 0, 0);
    made->modules[0].path = "/bin/some prog";
    made->modules[1].path = "/lib/lib.so";
    for (uint32_t i = 0; i < SITES; i++) {
        bool inlined = random_next() % 3 == 0;
        sample_site(made, i, i, inlined ? "inlined" : functions[random_next() % 4],
                    sources[random_next() % 2], 1 + (uint32_t)(random_next() % LINES),
                    inlined ? functions[random_next() % 4] : NULL, sources[random_next() % 2],
                    1 + (uint32_t)(random_next() % LINES));
        made->sites[i].module = (uint32_t)(random_next() % 2);
    }
    for (int i = 0; i < 300; i++) {
        uint32_t range = (uint32_t)(random_next() % (SAMPLE_EDGES + 1));
        bool cold = range == SAMPLE_EDGES;
        sample_pair(made, cold ? FM_NONE : (uint32_t)(random_next() % SITES),
                    (uint32_t)(random_next() % SITES), cold ? FM_RANGE_COLD : range,
                    random_next() % 1000000 + 1);
    }
    return sample_attributed(made);
}

CASE(lines_and_functions_are_those_of_a_naive_sum)
{
    if (!annotate_is_here()) skip();
    for (int round = 0; round < 4; round++) {
        size_t cache_count = (size_t)round + 1;
        fm_profile *profile = random_profile();
        const fm_attribution *in = profile->attribution;
        sums lines[2][LINES + 1] = {0}, by_function[2][4] = {0}, total = {{0}};
        for (size_t i = 0; i < in->pair_count; i++) {
            const fm_pair *pair = &in->pairs[i];
            const fm_site *site = &in->sites[pair->reuse];
            const fm_frame *inner = &site->frames[0], *outer = &site->frames[site->frame_count - 1];
            sums cost = cost_of(pair, cache_count);
            int file = strcmp(inner->file, sources[1]) == 0, function = 0;
            while (strcmp(outer->function, functions[function]) != 0) function++;
            add(&lines[file][inner->line], cost);
            add(&by_function[file][function], cost);
            add(&total, cost);
        }
        write_file(profile, cache_count);
        char *text = annotated("--context=1000");
        int file = -1, seen_lines = 0, seen_functions = 0, seen_totals = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            uint64_t numbers[4];
            const char *rest;
            if (strstr(line, "Auto-annotated source")) file = strstr(line, sources[1]) != NULL;
            if (strstr(line, "events annotated") || !parse_line(line, numbers, &rest)) continue;
            const sums *wanted = NULL;
            int number;
            if (strncmp(rest, "PROGRAM TOTALS", 14) == 0) {
                wanted = &total;
                seen_totals++;
            } else if (sscanf(rest, "text of line %d", &number) == 1) {
                assert_true(file >= 0 && number >= 1 && number <= LINES);
                wanted = &lines[file][number];
                seen_lines++;
            } else {
                for (int f = 0; f < 2 && !wanted; f++)
                    for (int g = 0; g < 4 && !wanted; g++) {
                        char name[256];
                        int length = snprintf(name, sizeof name, "%s:%s", sources[f], functions[g]);
                        if (strncmp(rest, name, (size_t)length) == 0 &&
                            (!rest[length] || rest[length] == ' '))
                            wanted = &by_function[f][g];
                    }
                seen_functions += wanted != NULL;
            }
            if (!wanted) fail_msg("not expected: %s", line);
            for (int i = 0; i < 4 && wanted; i++)
                if (numbers[i] != wanted->of[i])
                    fail_msg("%s: number %d should be %" PRIu64, line, i, wanted->of[i]);
        }
        assert_int_equal(seen_totals, 1);
        assert_int_equal(seen_lines, 2 * LINES);
        assert_true(seen_functions >= 8);
        assert_true(total.of[0] == profile->references);
        free(text);
        fm_profile_destroy(profile);
    }
}

/*
 * main calls even (line 10), which calls odd (line 20), which calls even (line 30), …: main > even > odd >
 * even > odd, where the last two touch data. Inclusive costs by hand.
 */
CASE(calls_cost_what_they_lead_to)
{
    if (!annotate_is_here()) skip();
    fm_attribution *made = sample_attribution(1, 7, 4, 0);
    made->modules[0].path = "/bin/prog";
    sample_site(made, 0, 0x10, "main", sources[0], 10, NULL, NULL, 0);
    sample_site(made, 1, 0x20, "even", sources[0], 20, NULL, NULL, 0);
    sample_site(made, 2, 0x30, "odd", sources[1], 30, NULL, NULL, 0);
    const fm_call_path paths[] = {{FM_NONE, 0}, {0, 1}, {1, 2}, {2, 1}};
    memcpy(made->paths, paths, sizeof paths);
    made->sites[3].path = 2; /* in even, the second time */
    made->sites[4].path = 3; /* in odd, the second time */
    made->sites[5].path = 0; /* in even, the first time */
    sample_site(made, 3, 0x21, "even", sources[0], 21, NULL, NULL, 0);
    sample_site(made, 4, 0x31, "odd", sources[1], 31, NULL, NULL, 0);
    sample_site(made, 5, 0x21, "even", sources[0], 21, NULL, NULL, 0);
    sample_site(made, 6, 0x11, "main", sources[0], 11, NULL, NULL, 0);
    sample_pair(made, 3, 3, sample_range(32768), 100);
    sample_pair(made, 4, 4, sample_range(32768), 1000);
    sample_pair(made, 5, 5, 0, 10);
    sample_pair(made, 6, 6, 0, 1);
    fm_profile *profile = sample_attributed(made);
    write_file(profile, 3);

    /* Straight from the file: caller's line and callee's number, then the cost. */
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[512], function[128] = "", callee[128] = "", names[8][128] = {""};
    bool is_call = false;
    int calls = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        unsigned number;
        char name[128] = "";
        bool called = sscanf(line, "cfn=(%u) %127[^\n]", &number, name) >= 1;
        if (called || sscanf(line, "fn=(%u) %127[^\n]", &number, name) >= 1) {
            assert_true(number < 8);
            if (name[0]) snprintf(names[number], sizeof names[number], "%s", name);
            snprintf(called ? callee : function, sizeof callee, "%s", names[number]);
        }
        uint64_t cost[4];
        if (is_call) {
            assert_int_equal(sscanf(line, "%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &number,
                                    &cost[0], &cost[1], &cost[2], &cost[3]),
                             5);
            calls++;
            static const struct {
                const char *from, *to;
                unsigned line;
                uint64_t references, misses;
            } wanted[] = {{"main", "even", 10, 1110, 1100}, /* both times that even runs */
                          {"even", "odd", 20, 1100, 1100}}; /* odd to even: even runs already */
            size_t at = 0;
            while (at < 2 && (strcmp(wanted[at].from, function) != 0 || strcmp(wanted[at].to, callee) != 0))
                at++;
            if (at < 2) {
                assert_int_equal(number, wanted[at].line);
                assert_int_equal(cost[0], wanted[at].references);
                assert_int_equal(cost[1], wanted[at].misses);
                assert_int_equal(cost[2], wanted[at].misses);
                assert_int_equal(cost[3], 0); /* 64 Ki blocks hold it */
            } else {
                fail_msg("%s calls %s?", function, callee);
            }
        }
        is_call = strncmp(line, "calls=", 6) == 0;
    }
    fclose(file);
    assert_int_equal(calls, 2);

    /* And callgrind_annotate: what is spent while each function runs. */
    char *text = annotated("--inclusive=yes --auto=no");
    static const struct {
        const char *name;
        uint64_t references, misses;
    } inclusive[] = {
        {"source0.c:main", 1111, 1100}, {"source0.c:even", 1110, 1100}, {"source1.c:odd", 1100, 1100}};
    int seen = 0;
    for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n")) {
        uint64_t numbers[4];
        const char *rest;
        if (!parse_line(at, numbers, &rest)) continue;
        for (size_t i = 0; i < 3; i++)
            if (strstr(rest, inclusive[i].name)) {
                seen++;
                assert_int_equal(numbers[0], inclusive[i].references);
                assert_int_equal(numbers[1], inclusive[i].misses);
            }
    }
    assert_int_equal(seen, 3);
    free(text);
    fm_profile_destroy(profile);
}

/* Random trees of calls, with recursion of every kind: the inclusive cost of each function is the cost of all
 * paths that it stands on. */
CASE(inclusive_costs_are_those_of_a_naive_sum)
{
    if (!annotate_is_here()) skip();
    enum { CALLS = 12, SITES = CALLS + 12, PATHS = 40 };
    for (int round = 0; round < 5; round++) {
        fm_attribution *made = sample_attribution(1, SITES, PATHS, 0);
        made->modules[0].path = "/bin/prog";
        int function_of[SITES];
        for (uint32_t i = 0; i < SITES; i++) {
            function_of[i] =
                i == 0 ? 0 : 1 + (int)(random_next() % 3); /* the first is main, and nowhere else */
            if (i >= CALLS) made->sites[i].path = (uint32_t)(random_next() % PATHS);
            sample_site(made, i, i, functions[function_of[i]], sources[0], 1 + (uint32_t)(random_next() % 5),
                        NULL, NULL, 0);
        }
        for (uint32_t i = 0; i < PATHS; i++)
            made->paths[i] =
                i ? (fm_call_path){(uint32_t)(random_next() % i), 1 + (uint32_t)(random_next() % (CALLS - 1))}
                  : (fm_call_path){FM_NONE, 0};
        sums wanted[4] = {0};
        for (uint32_t i = CALLS; i < SITES; i++)
            sample_pair(made, i, i, sample_range(32768), random_next() % 1000 + 1);
        for (size_t i = 0; i < made->pair_count; i++) {
            const fm_pair *pair = &made->pairs[i];
            bool stands[4] = {false};
            stands[function_of[pair->reuse]] = true;
            for (uint32_t at = made->sites[pair->reuse].path; at != FM_NONE; at = made->paths[at].parent)
                stands[function_of[made->paths[at].call]] = true;
            for (int f = 0; f < 4; f++)
                if (stands[f]) add(&wanted[f], cost_of(pair, 3));
        }
        fm_profile *profile = sample_attributed(made);
        write_file(profile, 3);
        char *text = annotated("--inclusive=yes --auto=no");
        int seen = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            uint64_t numbers[4];
            const char *rest;
            if (!parse_line(line, numbers, &rest) || strstr(rest, "PROGRAM")) continue;
            for (int f = 0; f < 4; f++) {
                char name[256];
                int length = snprintf(name, sizeof name, "%s:%s", sources[0], functions[f]);
                if (strncmp(rest, name, (size_t)length) != 0) continue;
                seen++;
                for (int i = 0; i < 4; i++)
                    if (numbers[i] != wanted[f].of[i])
                        fail_msg("%s: should be %" PRIu64, line, wanted[f].of[i]);
            }
        }
        assert_int_equal(seen, 4);
        free(text);
        fm_profile_destroy(profile);
    }
}

CASE(odd_names_are_no_trouble)
{
    if (!annotate_is_here()) skip();
    static char longest[20001];
    memset(longest, 'x', sizeof longest - 1);
    static const char *const names[] = {"a\nfn=(9) b", "",      "   ", "(7) seven", "totals: 5", "\xff\x01",
                                        "caf\xc3\xa9", longest, "# no"};
    enum { NAMES = sizeof names / sizeof *names };
    fm_attribution *made = sample_attribution(1, NAMES + 3, 0, 0);
    made->modules[0].path = "/x/\n\"prog\"";
    for (uint32_t i = 0; i < NAMES; i++)
        sample_site(made, i, i, names[i], names[(i + 1) % NAMES], i, NULL, NULL, 0);
    made->sites[NAMES] =
        (fm_site){.module = 0, .address = 7, .path = FM_NONE, .symbol = "memcpy", .symbol_offset = 3};
    made->sites[NAMES + 1] = (fm_site){.module = FM_NONE, .address = 0x7f00, .path = FM_NONE};
    for (uint32_t i = 0; i < NAMES + 3; i++) sample_pair(made, i, i, sample_range(32768), 1000 + i);
    fm_profile *profile = sample_attributed(made);
    profile->name = strdup("cmd\nevents: A B");
    profile->complete = false;
    profile->what_missing = strdup("killed\nfn=(1) x");
    for (size_t count = 0; count <= 4; count++) {
        write_file(profile, count);
        char *text = annotated("--auto=no");
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%" PRIu64, profile->references);
        assert_int_equal(strlen(wanted), 5);
        memmove(wanted + 3, wanted + 2, 4);
        wanted[2] = ',';
        const char *totals = strstr(text, "PROGRAM TOTALS");
        assert_non_null(totals);
        while (totals > text && totals[-1] != '\n') totals--;
        assert_memory_equal(totals, wanted, strlen(wanted));
        assert_non_null(strstr(text, "???:memcpy"));
        assert_non_null(strstr(text, "0x7f00"));
        assert_non_null(strstr(text, count ? "MissLL" : "Refs"));
        if (count == 0) assert_null(strstr(text, "Miss"));
        free(text);
    }
    fm_profile_destroy(profile);
}

CASES_WITH(make_folder, remove_folder);
