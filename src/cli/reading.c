/* SPDX-License-Identifier: Apache-2.0 */
/* reading.c - see reading.h. */
#include "reading.h"

#include <stdlib.h>
#include <string.h>

void cli_reading_damage(void *reading, const fm_error *error)
{
    cli_reading *self = reading;
    char message[1200];
    if (!self->silent) cli_complain("%s", fm_error_message(error, message, sizeof message));
    if (self->damages++ == 0) self->first_damage = *error;
    self->lost += error->lost;
}

void cli_reading_progress(void *reading, uint64_t references, double fraction)
{
    cli_progress_update(&((cli_reading *)reading)->progress, references, fraction);
}

int cli_reading_mark(const cli_reading *reading, fm_profile *profile)
{
    if (reading->damages == 0) return -1;
    char message[1200], both[2600];
    fm_error_message(&reading->first_damage, message, sizeof message);
    snprintf(both, sizeof both, "%s%s%s", profile->what_missing ? profile->what_missing : "",
             profile->what_missing ? "; " : "", message);
    char *what = strdup(both);
    if (!what) return cli_out_of_memory();
    free(profile->what_missing);
    profile->what_missing = what;
    profile->complete = false;
    profile->lost += reading->lost;
    return -1;
}
