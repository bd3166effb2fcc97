/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.c - everything the program says besides its results: on standard error, one style,
 * "fathom VERB: …".
 *
 * A message never carries control characters of a file name or of a trace's content to the terminal, nor
 * characters that reorder others: they are shown as what they are (fm_visible_text). It is written at once:
 * standard error has no buffer, and ranks of an MPI job speak at the same time.
 */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool cli_quiet;

static const char *current_verb; /* NULL before a verb is known */

void cli_set_verb(const char *name)
{
    current_verb = name;
}

enum {
    MOST = 2048,      /* an fm_error's path and reason, and room for a sentence */
    VISIBLE = 4,      /* characters that one may become */
    BEFORE_TEXT = 64, /* the program's and the verb's name */
};

static void say_message(const char *format, va_list arguments)
{
    char text[MOST], message[BEFORE_TEXT + VISIBLE * MOST + 2];
    vsnprintf(text, sizeof text, format, arguments);
    cli_progress_make_room();
    snprintf(message, BEFORE_TEXT, "fathom%s%s: ", current_verb ? " " : "", current_verb ? current_verb : "");
    size_t count = strlen(message);
    fm_visible_text(text, true, message + count, sizeof message - count - 1);
    count += strlen(message + count);
    message[count++] = '\n';
    fwrite(message, 1, count, stderr);
}

void cli_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_message(format, arguments);
    va_end(arguments);
}

void cli_note(const char *format, ...)
{
    if (cli_quiet) return;
    va_list arguments;
    va_start(arguments, format);
    say_message(format, arguments);
    va_end(arguments);
}

int cli_out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}

/* Whether it was said before: what is true of two processes or two granularities need be said once. */
static bool is_known(const char *text)
{
    enum { MOST_NOTES = 256 };
    static uint64_t said[MOST_NOTES];
    static size_t count;
    uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text; text++) sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
    for (size_t i = 0; i < count; i++)
        if (said[i] == sum) return true;
    if (count < MOST_NOTES) said[count++] = sum;
    return false;
}

void cli_notes_open(cli_notes *notes)
{
    *notes = (cli_notes){0};
    if (!cli_quiet) notes->stream = open_memstream(&notes->text, &notes->size);
}

void cli_notes_close(cli_notes *notes, bool say)
{
    if (!notes->stream) return;
    if (fclose(notes->stream) == 0 && say)
        for (char *rest = notes->text, *line; (line = strsep(&rest, "\n"));)
            if (line[0] != '\0' && !is_known(line)) cli_note("%s", line);
    free(notes->text);
    *notes = (cli_notes){0};
}

int cli_fail(const fm_error *error)
{
    /* Whoever read our output is gone, and knows. */
    if (error->status == FM_E_IO && cli_pipe_broken()) return CLI_FAILED;
    char text[sizeof error->path + sizeof error->reason + 256], line[VISIBLE * sizeof text + 1];
    fm_error said = *error;
    cli_option_words(error->reason, said.reason, sizeof said.reason);
    /* An error is one line, whatever the name of a file is. */
    fm_visible_text(fm_error_message(&said, text, sizeof text), false, line, sizeof line);
    cli_complain("%s", line);
    return error->status == FM_E_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}

int cli_misuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_message(format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'fathom%s%s --help'.\n", current_verb ? " " : "", current_verb ? current_verb : "");
    return CLI_USAGE;
}

int cli_finish(int code)
{
    errno = 0;
    int flushed = fflush(stdout);
    int why = errno;
    if (flushed == 0 && !ferror(stdout)) return code;
    /* A verb that failed has said why, and this may be the same trouble. */
    if (!cli_pipe_broken() && code != CLI_FAILED) {
        if (flushed != 0)
            cli_complain("standard output: cannot write: %s", strerror(why));
        else /* an earlier write failed and its reason is gone */
            cli_complain("standard output: cannot write: output was lost");
    }
    clearerr(stdout); /* said once */
    return CLI_FAILED;
}

/* ---- a broken pipe ---- */

/*
 * A broken pipe: quiet, and visible to the shell, but only after the verb cleaned up. Dying at once by
 * SIGPIPE would leave unfinished files beside their names; ignoring the signal would print a message for
 * every `| head`. So the signal is caught, the write fails with EPIPE, the verb takes its ordinary error
 * path, and the signal is raised again when everything is put away.
 */

static volatile sig_atomic_t broken;

static void remember_signal(int number)
{
    (void)number;
    broken = 1;
}

void cli_pipe_watch(void)
{
    struct sigaction current;
    if (sigaction(SIGPIPE, NULL, &current) != 0 || current.sa_handler != SIG_DFL) return;
    struct sigaction action = {.sa_handler = remember_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
}

bool cli_pipe_broken(void)
{
    return broken != 0;
}

void cli_pipe_leave(void)
{
    if (!broken) return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}
