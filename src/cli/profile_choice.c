/* SPDX-License-Identifier: Apache-2.0 */
/* profile_choice.c - see profile_choice.h. */
#include "profile_choice.h"

#include <inttypes.h>
#include <string.h>

const fm_profile *cli_profile_find(const fm_profile_list *list, uint64_t granularity)
{
    if (granularity == 0) return list->count ? list->profiles[0] : NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->profiles[i] && list->profiles[i]->granularity == granularity) return list->profiles[i];
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

bool cli_profile_choose_two(const fm_profile_list *a, const fm_profile_list *b, uint64_t granularity,
                            char **paths, const fm_profile **of_a, const fm_profile **of_b)
{
    if (granularity == 0)
        for (size_t i = 0; i < a->count; i++)
            if (cli_profile_find(b, a->profiles[i]->granularity)) {
                granularity = a->profiles[i]->granularity;
                if (a->count > 1 || b->count > 1)
                    cli_note("comparing at the granularity %" PRIu64 " (--select chooses)", granularity);
                break;
            }
    /* Without a common one the library says why the first two cannot be compared. */
    *of_a = cli_profile_choose(a, granularity, paths[1]);
    *of_b = cli_profile_choose(b, granularity, paths[2]);
    return *of_a && *of_b;
}

int cli_profile_completeness(const fm_profile *profile, const char *path)
{
    if (profile->complete) return CLI_COMPLETE;
    cli_note("%s is a profile of incomplete input: %s", path,
             profile->what_missing ? profile->what_missing : "it does not say what is missing");
    return CLI_INCOMPLETE;
}
