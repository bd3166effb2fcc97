/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - what a standard stream can show: width, UTF-8, colour.
 *
 * The locale is looked at, never set: a decimal comma in a CSV would be a bug.
 */
#include "cli.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool locale_is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0) return false;
    bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

static unsigned width_of(int descriptor, bool terminal)
{
    struct winsize size;
    if (terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char *columns = getenv("COLUMNS");
    uint64_t number;
    if (columns && cli_parse_count(columns, &number) && number >= 20 && number <= 1000)
        return (unsigned)number;
    return 0;
}

static fm_view_options options_of(int descriptor)
{
    bool terminal = isatty(descriptor) == 1;
    const char *kind = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR"); /* see no-color.org: set and not empty */
    fm_view_options options = {.width = width_of(descriptor, terminal), .unicode = locale_is_utf8()};
    options.colour = terminal && kind && strcmp(kind, "dumb") != 0 && !(no_colour && no_colour[0] != '\0');
    return options;
}

fm_view_options cli_view_options(void)
{
    return options_of(STDOUT_FILENO);
}

fm_view_options cli_view_after_notes(int descriptor)
{
    fm_view_options options = options_of(descriptor);
    struct stat out, notes;
    options.notes_shown = !cli_quiet && fstat(descriptor, &out) == 0 && fstat(STDERR_FILENO, &notes) == 0 &&
                          out.st_dev == notes.st_dev && out.st_ino == notes.st_ino;
    return options;
}
