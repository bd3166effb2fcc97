/* SPDX-License-Identifier: Apache-2.0 */
/* A program that samples itself (fathom/self_sampler.h), several times, with threads, and sees no child, no
 * descriptor and no signal of it. Prints one line for each profile. */
#define _GNU_SOURCE
#include <fathom/self_sampler.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t children;
static volatile int over;

static void on_child(int number)
{
    (void)number;
    children++;
}

/* Sweeps over so many words, for so long. */
static void sweep(size_t words, double seconds)
{
    volatile uint64_t *table = calloc(words, sizeof *table);
    struct timespec time;
    if (!table) abort();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    const double until = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec + seconds;
    do {
        for (int k = 0; k < 16; k++)
            for (size_t i = 0; i < words; i++) table[i]++;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while ((double)time.tv_sec + 1e-9 * (double)time.tv_nsec < until);
    free((void *)(uintptr_t)table);
}

static void *thread(void *words)
{
    while (!over) sweep((size_t)(uintptr_t)words, 0.05);
    return NULL;
}

static int open_files(void)
{
    int count = 0;
    for (int file = 0; file < 1024; file++) count += fcntl(file, F_GETFD) >= 0;
    return count;
}

/* The share of re-uses at distances of this many words and more. */
static double far(const fm_profile *profile, uint64_t words)
{
    double far = 0, all = 0;
    for (size_t i = 0; i < profile->distances.count; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        all += (double)bin->count;
        if (bin->lo >= words) far += (double)bin->count;
    }
    return all > 0 ? far / all : -1;
}

static int sample(const char *what, const fm_running_sampler_options *options, size_t words, double seconds)
{
    fm_error error;
    fm_running_sampler *sampler;
    fm_profile *profile;
    if (fm_sampler_start(&sampler, options, &error)) {
        printf("%s: not started: %s\n", what, error.reason);
        return 1;
    }
    if (words) sweep(words, seconds);
    if (fm_sampler_stop(sampler, &profile, &error)) {
        printf("%s: no profile: %s\n", what, error.reason);
        return 1;
    }
    printf("%s: exact %d, bursts %d, far %.2f\n", what, profile->exact,
           profile->sampling && profile->sampling->bursts > 0, far(profile, words / 2));
    fm_profile_destroy(profile);
    return 0;
}

int main(int argc, char **argv)
{
    const fm_running_sampler_options options = {
        .program = argc > 1 ? argv[1] : NULL, .rate = 1000, .granularity = 8, .no_sites = true};
    alarm(100);
    signal(SIGCHLD, on_child);
    const int files = open_files();
    sample("small", &options, 1024, 0.3);
    sample("large", &options, 32768, 0.2);
    fm_running_sampler *one, *two;
    fm_error error;
    if (fm_sampler_start(&one, &options, &error) == FM_OK) {
        printf("two at a time: %s\n", fm_sampler_start(&two, &options, &error) ? "refused" : "started");
        sweep(1024, 0.05);
        printf("stopped without a profile: %d\n", fm_sampler_stop(one, NULL, &error));
    }
    sample("nothing", &options, 0, 0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, thread, (void *)4096);
    sample("threads", &options, 4096, 0.15);
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    const fm_running_sampler_options wrong = {.program = "/not/there"};
    sample("no fathom", &wrong, 1024, 0.1);
    const int child = waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 1;
    printf("children %d, signals %d, files %d\n", child, (int)children, open_files() - files);
    return 0;
}
