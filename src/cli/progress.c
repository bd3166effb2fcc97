/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - one line on standard error while a job takes over a second: how much, how fast, what
 * share, how long still.
 *
 * On a terminal the line is drawn over itself and vanishes at the end, so that only results stay. Asked
 * for elsewhere (--progress into a log, or beside a program that writes to the terminal itself), it is a new
 * line each time, once a second.
 */
#include "cli.h"

#include <inttypes.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const double first_after = 1.0;       /* seconds: shorter jobs show nothing */
static const double terminal_interval = 0.1; /* seconds between two drawings */
static const double log_interval = 1.0;
static const double rare_first = 2.0, rare_most = 60.0; /* twice as long each time */
static const char slower[] = " (a traced program runs slower: under Valgrind 6 to 40 times)";

static bool line_on_terminal; /* a line stands where the next character would go */

static double time_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool on_terminal(void)
{
    return isatty(STDERR_FILENO) == 1;
}

void cli_progress_make_room(void)
{
    if (!line_on_terminal) return;
    fputs("\r\033[K", stderr);
    line_on_terminal = false;
}

void cli_progress_start(cli_progress *progress, const char *noun, bool always)
{
    *progress = (cli_progress){.noun = noun, .enabled = !cli_quiet && (always || on_terminal())};
    if (progress->enabled) progress->started = time_now();
}

/* Whether a program draws on the whole terminal by itself: it reads keys, not lines. */
static bool fills_screen(void)
{
    struct termios how;
    return tcgetattr(STDERR_FILENO, &how) == 0 && !(how.c_lflag & ICANON);
}

void cli_progress_start_beside(cli_progress *progress, const char *noun, bool asked)
{
    *progress = (cli_progress){.noun = noun,
                               .enabled = !cli_quiet && (asked || (on_terminal() && !fills_screen())),
                               .beside = true,
                               .rare = !asked};
    if (progress->enabled) progress->started = time_now();
}

/* 1234567 → "1.23 M" */
static void print_scaled(double value)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    fprintf(stderr, "%.*f%s", decimals, value, units[unit]);
}

static void print_duration(double seconds)
{
    uint64_t whole = seconds < 1e15 ? (uint64_t)(seconds + 0.5) : 0;
    if (whole >= 3600)
        fprintf(stderr, "%" PRIu64 " h %02" PRIu64 " min", whole / 3600, whole / 60 % 60);
    else if (whole >= 60)
        fprintf(stderr, "%" PRIu64 " min %02" PRIu64 " s", whole / 60, whole % 60);
    else
        fprintf(stderr, "%" PRIu64 " s", whole);
}

static bool is_due(const cli_progress *progress, double time, bool terminal)
{
    const double elapsed = time - progress->started, since = time - progress->last;
    if (!progress->shown) return elapsed >= (progress->rare ? rare_first : first_after);
    if (!progress->rare) return since >= (terminal ? terminal_interval : log_interval);
    const double before = progress->last - progress->started;
    return since >= (before < rare_most ? before : rare_most);
}

void cli_progress_update(cli_progress *progress, uint64_t done, double fraction)
{
    if (!progress->enabled) return;
    double time = time_now();
    double elapsed = time - progress->started;
    bool terminal = on_terminal() && !progress->beside;
    if (!is_due(progress, time, terminal) || (progress->rare && fills_screen())) return;
    const bool first = !progress->shown;
    progress->last = time;
    progress->shown = true;

    if (terminal)
        cli_progress_make_room();
    else /* what the program wrote last may not have ended its line */
        fputs(progress->beside && on_terminal() ? "\nfathom: " : "fathom: ", stderr);
    print_scaled((double)done);
    fprintf(stderr, " %s, ", progress->noun);
    if (progress->beside) {
        print_duration(elapsed);
        fputs(", ", stderr);
    }
    print_scaled((double)done / elapsed);
    fputs("/s", stderr);
    if (fraction >= 0) {
        if (fraction > 1) fraction = 1;
        fprintf(stderr, ", %.0f %%", fraction * 100);
        if (fraction > 0) {
            fputs(", ", stderr);
            print_duration(elapsed / fraction - elapsed);
            fputs(" left", stderr);
        }
    }
    if (progress->beside && first) fputs(slower, stderr);
    if (terminal)
        line_on_terminal = true;
    else
        fputc('\n', stderr);
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->shown) cli_progress_make_room();
    progress->enabled = false;
}
