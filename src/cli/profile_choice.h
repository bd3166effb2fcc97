/* SPDX-License-Identifier: Apache-2.0 */
/* profile_choice.h - one profile out of a file that may hold several granularities. */
#ifndef FATHOM_CLI_PROFILE_CHOICE_H
#define FATHOM_CLI_PROFILE_CHOICE_H

#include "cli.h"

/* The option, and its older spelling, which means something else in verbs that analyse. */
#define CLI_SELECT_OPTION(target)                                                                            \
    {"select", CLI_TO(target)},                                                                              \
    {                                                                                                        \
        "granularity", CLI_OLD("select")                                                                     \
    }

/* The profile of this granularity, or NULL. 0 is any: the first one. */
const fm_profile *cli_profile_find(const fm_profile_list *list, uint64_t granularity);
/* The same, with a message that lists what there is: NULL after it. path is for the message. */
const fm_profile *cli_profile_choose(const fm_profile_list *list, uint64_t granularity, const char *path);
/* One of each at a granularity that both have: the one asked for, or the first of a that b has too. paths[1]
 * and paths[2] are for messages. False after one. */
bool cli_profile_choose_two(const fm_profile_list *a, const fm_profile_list *b, uint64_t granularity,
                            char **paths, const fm_profile **of_a, const fm_profile **of_b);
/* A note on standard error for a profile whose input was incomplete. Returns the exit code for it. */
int cli_profile_completeness(const fm_profile *profile, const char *path);

#endif
