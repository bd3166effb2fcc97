/* SPDX-License-Identifier: Apache-2.0 */
/* profile_choice.c - see profile_choice.h. */
#include "profile_choice.h"

#include <inttypes.h>
#include <string.h>

const fm_profile *cli_profile_find(const fm_profile_list *list, uint64_t granularity)
{
    if (granularity == 0) return list->count ? list->profiles[0] : NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->profiles[i]->granularity == granularity) return list->profiles[i];
    return NULL;
}

const fm_profile *cli_profile_choose(const fm_profile_list *list, uint64_t granularity, const char *path)
{
    const fm_profile *found = cli_profile_find(list, granularity);
    char there[200] = "";
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(there);
        snprintf(there + used, sizeof there - used, "%s%" PRIu64, i ? ", " : "",
                 list->profiles[i]->granularity);
    }
    if (!found)
        cli_complain("%s: no profile of granularity %" PRIu64 "; the file has %s", path, granularity, there);
    else if (granularity == 0 && list->count > 1)
        cli_note("%s has the granularities %s; this is %" PRIu64 " (--select chooses)", path, there,
                 found->granularity);
    return found;
}

int cli_profile_completeness(const fm_profile *profile, const char *path)
{
    if (profile->complete) return CLI_COMPLETE;
    cli_note("%s is a profile of incomplete input: %s", path,
             profile->what_missing ? profile->what_missing : "it does not say what is missing");
    return CLI_INCOMPLETE;
}
