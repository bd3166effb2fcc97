/* SPDX-License-Identifier: Apache-2.0 */
/* process_command.c - see process_command.h. */
#include "sample/process_command.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 10, MOST_WORDS = 4096 };

int cli_process_number(const char *text, uint32_t *pid)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || value == 0 || value > INT32_MAX)
        return cli_misuse("--pid: expected the number of a process such as 4711, found '%s'", text);
    *pid = (uint32_t)value;
    return -1;
}

char **cli_process_command(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", pid);
    FILE *file = fopen(path, "re");
    char **words = malloc(MOST_WORDS * sizeof *words + MOST_BYTES);
    char *text = words ? (char *)(words + MOST_WORDS) : NULL;
    size_t count = 0, bytes = 0;
    if (file && text) bytes = fread(text, 1, MOST_BYTES - 1, file);
    if (file) fclose(file);
    if (bytes == 0) {
        free(words);
        return NULL;
    }
    text[bytes] = '\0';
    for (size_t at = 0; at < bytes && count + 1 < MOST_WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    words[count] = NULL;
    return words;
}
