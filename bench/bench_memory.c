/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_memory.c - memory at any moment: new blocks only, looked at after every chunk. Shown are the
 * moments of the worst ratio per size class, the engine's own account and what the kernel says
 * (resident set), and whether the promise (48 bytes per distinct block plus 64 MiB) held at every look.
 * The account's peak includes what is held only while growing; the resident set is read between feeds,
 * and its peak (VmHWM) at the end.
 *
 *     bench_memory [--keys 100M] [--contenders exact,tree]
 */
#include "contender.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CONTENDERS = 8 };

static uint64_t kernel_says(const char *field)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0) sscanf(line + strlen(field), ": %llu", &kilobytes);
    fclose(file);
    return kilobytes * 1024;
}

/* In a process of its own, so that the kernel's peak is this contender's. */
static void measure(const char *name, uint64_t keys)
{
    static uint64_t blocks[CONTENDER_CHUNK];
    memset(blocks, 1, sizeof blocks);
    uint64_t before = kernel_says("VmRSS");
    contender who = contender_named(name);
    contender_run *run = contender_start(&who, 77);
    uint64_t next_shown = 1000000, distinct = 0;
    bool kept = true;
    double worst_excess = 0;
    while (distinct < keys) {
        size_t count = 0;
        while (count < CONTENDER_CHUNK && distinct < keys)
            blocks[count++] = distinct++ * UINT64_C(0x9E3779B97F4A7C15);
        contender_feed(run, blocks, count);
        uint64_t peak = contender_memory_peak(run), resident = kernel_says("VmRSS") - before;
        double excess = (double)(peak > resident ? peak : resident) - 48.0 * (double)distinct;
        if (excess > worst_excess) worst_excess = excess;
        if (excess > 64.0 * 1048576.0) kept = false;
        if (distinct >= next_shown || distinct == keys) {
            printf("| %s | %.1f M | %.1f | %.1f | %.1f |\n", name, (double)distinct / 1e6,
                   (double)contender_memory(run) / (double)distinct, (double)peak / (double)distinct,
                   (double)resident / (double)distinct);
            bench_line("bench=memory contender=%s distinct=%" PRIu64 " held=%" PRIu64 " peak=%" PRIu64
                       " resident=%" PRIu64,
                       name, distinct, contender_memory(run), peak, resident);
            next_shown *= 10;
        }
    }
    uint64_t high = kernel_says("VmHWM") - before;
    printf("\n%s: the most over 48 bytes per distinct block at any look was %.1f MiB (64 MiB are allowed: "
           "%s); the "
           "kernel's peak at the end: %.1f bytes per distinct block.\n\n",
           name, worst_excess / 1048576.0, kept ? "kept" : "NOT kept", (double)high / (double)distinct);
    bench_line("bench=memory_promise contender=%s kept=%d worst_excess_mib=%.1f", name, kept,
               worst_excess / 1048576.0);
    contender_end(run);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"keys", required_argument, NULL, 'k'},
                                            {"contenders", required_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    uint64_t keys = 100000000;
    char default_contenders[] = "exact,tree", *chosen = default_contenders;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'k':
            keys = bench_count(optarg);
            break;
        case 'c':
            chosen = optarg;
            break;
        default:
            return 2;
        }
    const char *names[MOST_CONTENDERS];
    size_t contenders = bench_split(chosen, names, MOST_CONTENDERS);
    printf("Bytes per distinct block.\n\n");
    for (size_t c = 0; c < contenders; c++) {
        printf(
            "| contender | distinct | held | peak, by its own account | resident |\n|---|--:|--:|--:|--:|\n");
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) bench_die("cannot fork");
        if (child == 0) {
            measure(names[c], keys);
            fflush(stdout);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) < 0 || status != 0) bench_die("%s did not finish", names[c]);
    }
    return fflush(stdout) ? 1 : 0;
}
