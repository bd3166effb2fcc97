/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_program.c - what `fathom run` does, in a program of one's own: runs a command, analyses its
 * references while it runs, writes the profile and a page, and shows what misses the caches, and which code
 * does it.
 *
 *     cc -O2 profile_program.c $(pkg-config --cflags --libs fathom) -o profile_program
 *     ./profile_program sort numbers.txt
 */
#include <fathom/fathom.h>
#include <stdio.h>
#include <stdlib.h>

static void note(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "profile_program: %s\n", line);
}

int main(int argc, char **argv)
{
    fm_error error;
    fm_job *job = NULL;
    const fm_job_options analysis = {.note = note, .warn = note};
    const fm_collect_options program = {.command = argv + 1};
    const fm_job_files files = {.json = "profile.json",
                                .page = fm_report_available() ? "profile.html" : NULL};
    if (argc < 2) return fprintf(stderr, "usage: profile_program PROGRAM [ARGUMENTS...]\n"), 2;
    fm_status status = fm_job_create(&job, &analysis, &error);
    if (status == FM_OK) status = fm_job_run(job, &program, &error);
    if (status == FM_OK) status = fm_job_write(job, &files, &error);
    if (status == FM_OK) status = fm_job_show(job, stderr, NULL, NULL, &error);
    const bool complete = job && fm_job_is_complete(job);
    fm_job_destroy(job);
    if (status == FM_OK) return complete ? EXIT_SUCCESS : 3;
    char text[1200];
    note(NULL, fm_error_message(&error, text, sizeof text));
    return EXIT_FAILURE;
}
