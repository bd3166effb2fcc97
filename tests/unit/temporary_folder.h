/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_folder.h - a folder for the files of a group of tests: its setup, its teardown, names in it.
 * After <cmocka.h>. */
#ifndef FATHOM_TEST_TEMPORARY_FOLDER_H
#define FATHOM_TEST_TEMPORARY_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fathom-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); /* NOLINT(cert-env33-c): a name that was made here */
}

static const char *in_folder(const char *name)
{
    static char paths[16][128];
    static unsigned at;
    char *path = paths[at++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

__attribute__((unused)) static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

#endif
