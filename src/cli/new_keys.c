/* SPDX-License-Identifier: Apache-2.0 */
/* new_keys.c - see new_keys.h. */
#include "new_keys.h"
#include "cli.h"

#include <inttypes.h>
#include <string.h>

/* Below that, a trace may well have no key twice. */
enum { LEAST_REFERENCES = 2000, SUSPECT_PERCENT = 99 };

static void look_at_table(cli_new_keys *keys, const fm_trace_info *info)
{
    char key[300] = "";
    if (info->key_name[0] != '\0')
        snprintf(key, sizeof key, "'%s'", info->key_name);
    else
        snprintf(key, sizeof key, "%" PRIu64, info->key_column);
    if (info->columns_seen[0] == '\0')
        snprintf(keys->advice, sizeof keys->advice, "Is column %s the key? A few of its values: %s", key,
                 info->key_values);
    else
        snprintf(keys->advice, sizeof keys->advice,
                 "Is column %s the key? --key COLUMN says which it is, of these: %s", key,
                 info->columns_seen);
}

static void look_at_text(cli_new_keys *keys, const fm_trace_info *info)
{
    char delimiter[8];
    snprintf(delimiter, sizeof delimiter, info->columns_delimiter == '\t' ? "tab" : "'%c'",
             info->columns_delimiter);
    if (info->columns_seen[0] == '\0')
        snprintf(keys->advice, sizeof keys->advice,
                 "Each whole line is taken as a key: is there more in it than the key? A line is: %s",
                 info->key_values);
    else
        snprintf(
            keys->advice, sizeof keys->advice,
            "Each whole line is taken as a key; --format csv --delimiter %s --header %s --key NUMBER takes "
            "a column of it, of these: %s",
            delimiter, info->columns_from_second ? "yes" : "no", info->columns_seen);
}

void cli_new_keys_look(cli_new_keys *keys, const fm_trace_info *info)
{
    *keys = (cli_new_keys){0};
    if (strcmp(info->format, "csv") == 0 && info->key_column > 0)
        look_at_table(keys, info);
    else if (strcmp(info->format, "text") == 0 && info->key_values)
        look_at_text(keys, info);
}

void cli_new_keys_note(cli_new_keys *keys, uint64_t references, uint64_t first)
{
    if (keys->said || keys->advice[0] == '\0' || references < LEAST_REFERENCES) return;
    const double percent = 100 * (double)first / (double)references;
    if (percent < SUSPECT_PERCENT) return;
    keys->said = true;
    cli_note("nearly every key is new: %" PRIu64 " of %" PRIu64
             " references (%.1f %%) are the first to their key, "
             "so that no cache can help. %s",
             first, references, percent, keys->advice);
}
