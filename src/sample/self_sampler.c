/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_sampler.c - fathom/self_sampler.h: a helper process samples the caller. What it prints, the profile
 * and messages, goes into files in memory that both have.
 */
#define _GNU_SOURCE
#include <fathom/self_sampler.h>

#include "base/crew.h"
#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 24, TEXT = 320, STACK = 64 << 10, LAST_MESSAGE = 2048 };
static const double start_seconds = 30.0;

struct fm_running_sampler {
    int profile, messages; /* memory files */
    int helper;            /* pidfd; -1: none */
};

/* ---- the helper ---- */

/* What the children need. They share the memory of the caller, which waits meanwhile. */
typedef struct launch {
    const char *path;
    char **arguments;
    int profile, messages;
    volatile pid_t helper;
    volatile int why;
    char *stack; /* of the second child */
} launch;

static int become_helper(void *context)
{
    launch *given = context;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0); /* Ctrl-C is for the program */
    const int input = open("/dev/null", O_RDONLY);
    /* Copies above all of them first: any of the three may be one of 0, 1 and 2. */
    const int copies[3] = {fcntl(input, F_DUPFD, 16), fcntl(given->profile, F_DUPFD, 16),
                           fcntl(given->messages, F_DUPFD, 16)};
    for (int i = 0; i < 3; i++)
        if (dup2(copies[i], i) != i) given->why = errno;
    if (syscall(SYS_close_range, 3, ~0u, 0) != 0)
        for (int file = 3; file < 1024; file++) close(file);
    if (!given->why) execv(given->path, given->arguments);
    if (!given->why) given->why = errno;
    _exit(127);
}

/* In between, so that the helper is nobody's child. */
static int make_helper(void *context)
{
    launch *given = context;
    given->helper = clone(become_helper, given->stack + STACK, CLONE_VM | CLONE_VFORK, given);
    if (given->helper < 0) given->why = errno;
    _exit(0);
}

static fm_status start_helper(fm_running_sampler *sampler, const char *path, char **arguments,
                              fm_error *error)
{
    char *stacks =
        mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return fm_fail_memory(error, 2 * STACK, "a helper process");
    launch given = {.path = path,
                    .arguments = arguments,
                    .profile = sampler->profile,
                    .messages = sampler->messages,
                    .stack = stacks};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* until its number is known */
    /* Signal 0: its end is told to nobody who does not ask for it by __WALL. */
    const pid_t between = clone(make_helper, stacks + 2 * STACK, CLONE_VM | CLONE_VFORK, &given);
    const int why = between < 0 ? errno : given.why;
    if (between > 0)
        while (waitpid(between, NULL, __WALL) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, 2 * STACK);
    if (why == 0) prctl(PR_SET_PTRACER, given.helper);
    sampler->helper = why == 0 ? (int)syscall(SYS_pidfd_open, given.helper, 0) : -1;
    if (why == 0 && sampler->helper >= 0) return FM_OK;
    prctl(PR_SET_PTRACER, 0);
    return fm_fail_io(error, path, "execute", why ? why : errno);
}

/* fathom: beside the sampling runtime, as it is built or installed, or in PATH. */
static fm_status find_program(const char *given, fm_program_file *program, fm_error *error)
{
    static const char *const places[] = {"/../../fathom", "/../../bin/fathom", "/../../../bin/fathom"};
    char part[PATH_MAX];
    if (given) return fm_program_find(given, program, error);
    if (fm_part_find(NULL, "libfathom-sample.so", part, sizeof part)) {
        *strrchr(part, '/') = '\0';
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            const int length = snprintf(program->path, sizeof program->path, "%s%s", part, places[i]);
            if (length < (int)sizeof program->path && access(program->path, X_OK) == 0) return FM_OK;
        }
    }
    return fm_program_find("fathom", program, error);
}

/* ---- what it says ---- */

/* The last message, without the name of the program before it. */
static fm_status helper_failure(const fm_running_sampler *sampler, const char *otherwise, fm_error *error)
{
    char text[LAST_MESSAGE];
    const off_t end = lseek(sampler->messages, 0, SEEK_END);
    const off_t from = end > LAST_MESSAGE - 1 ? end - (LAST_MESSAGE - 1) : 0;
    ssize_t got = pread(sampler->messages, text, sizeof text - 1, from);
    while (got > 0 && text[got - 1] == '\n') got--;
    if (got <= 0) return fm_fail(error, FM_E_IO, NULL, "%s", otherwise);
    text[got] = '\0';
    const char *line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
    static const char name[] = "fathom sample: ";
    if (strncmp(line, name, sizeof name - 1) == 0) line += sizeof name - 1;
    return fm_fail(error, FM_E_IO, NULL, "%s", line);
}

static bool has_ended(const fm_running_sampler *sampler, int milliseconds)
{
    struct pollfd handle = {.fd = sampler->helper, .events = POLLIN};
    return poll(&handle, 1, milliseconds) > 0;
}

static void destroy_sampler(fm_running_sampler *sampler)
{
    if (!sampler) return;
    if (sampler->helper >= 0) close(sampler->helper);
    if (sampler->profile >= 0) close(sampler->profile);
    if (sampler->messages >= 0) close(sampler->messages);
    free(sampler);
}

/* ---- beginning and end ---- */

/* As the kernel has it: it is the sampler's as soon as that has begun. */
static uint64_t trap_handler(void)
{
    uint64_t action[4] = {0};
    syscall(SYS_rt_sigaction, SIGTRAP, NULL, action, 8);
    return action[0];
}

static fm_status wait_for_beginning(fm_running_sampler *sampler, uint64_t before, fm_error *error)
{
    const double until = fm_now() + start_seconds;
    while (trap_handler() == before) {
        if (has_ended(sampler, 1))
            return helper_failure(sampler, "the helper process ended by itself", error);
        if (fm_now() > until) {
            syscall(SYS_pidfd_send_signal, sampler->helper, SIGTERM, NULL, 0);
            while (!has_ended(sampler, 1000)) continue;
            return helper_failure(sampler, "the helper process does not come to its end", error);
        }
    }
    return FM_OK;
}

static fm_status launch_helper(fm_running_sampler *sampler, const fm_running_sampler_options *options,
                               fm_error *error)
{
    char pid[TEXT], rate[TEXT], period[TEXT], overhead[TEXT], granularity[TEXT];
    char *arguments[ARGUMENTS] = {"fathom", "sample", "--json", "-", "--pid", pid};
    size_t count = 6;
    fm_program_file program;
    memset(&program, 0, sizeof program);
    fm_status status = find_program(options->program, &program, error);
    if (status != FM_OK) return status;
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    snprintf(rate, sizeof rate, "--rate=%g", options->rate);
    snprintf(period, sizeof period, "--period=%" PRIu64, options->period);
    snprintf(overhead, sizeof overhead, "--overhead=%g", options->overhead * 100);
    snprintf(granularity, sizeof granularity, "--granularity=%" PRIu64, options->granularity);
    if (options->rate > 0) arguments[count++] = rate;
    if (options->period) arguments[count++] = period;
    if (options->overhead > 0) arguments[count++] = overhead;
    if (options->granularity) arguments[count++] = granularity;
    if (options->no_watches) arguments[count++] = "--no-watches";
    if (options->no_sites) arguments[count++] = "--no-sites";
    if (options->region) {
        arguments[count++] = "--region";
        arguments[count++] = (char *)(uintptr_t)options->region;
    }
    const uint64_t before = trap_handler();
    status = start_helper(sampler, program.path, arguments, error);
    if (status == FM_OK) status = wait_for_beginning(sampler, before, error);
    prctl(PR_SET_PTRACER, 0);
    return status;
}

fm_status fm_sampler_start_sized(size_t given_size, fm_running_sampler **sampler,
                                 const fm_running_sampler_options *given, fm_error *error)
{
    *sampler = NULL;
    fm_running_sampler_options options;
    fm_status status =
        fm_sized_read(&options, sizeof options, given, given_size, "fm_running_sampler_options", error);
    if (status != FM_OK) return status;
    fm_running_sampler *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "a sampler");
    made->helper = -1;
    made->profile = memfd_create("fathom-profile", MFD_CLOEXEC);
    made->messages = memfd_create("fathom-messages", MFD_CLOEXEC);
    if (made->profile < 0 || made->messages < 0)
        status = fm_fail_io(error, NULL, "make a file in memory", errno);
    else
        status = launch_helper(made, &options, error);
    if (status == FM_OK)
        *sampler = made;
    else
        destroy_sampler(made);
    return status;
}

fm_status fm_sampler_stop(fm_running_sampler *sampler, fm_profile **profile, fm_error *error)
{
    FM_REQUIRE(sampler, error);
    char path[64];
    fm_status status = FM_OK;
    if (profile) *profile = NULL;
    if (!sampler) return FM_OK;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* it comes back to leave */
    syscall(SYS_pidfd_send_signal, sampler->helper, SIGTERM, NULL, 0);
    while (!has_ended(sampler, 1000)) continue;
    prctl(PR_SET_PTRACER, 0);
    fm_profile_list list = {0};
    if (lseek(sampler->profile, 0, SEEK_END) <= 0)
        status = helper_failure(sampler, "the helper process was killed", error);
    else if (profile) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", sampler->profile);
        lseek(sampler->profile, 0, SEEK_SET);
        status = fm_profile_read(path, &list, error);
    }
    if (status == FM_OK && profile && list.count > 0) {
        *profile = list.profiles[0];
        list.profiles[0] = NULL;
    }
    fm_profile_list_clear(&list);
    destroy_sampler(sampler);
    return status;
}
