/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - sites that are places in the source alone (fm_attribution_add_places). Internal. */
#ifndef FATHOM_PROFILE_PLACES_H
#define FATHOM_PROFILE_PLACES_H

#include <fathom/attribution.h>

/* Neither module nor address: the frames are all that is known of it, and what distinguishes it from others.
 */
static inline bool fm_site_is_place(const fm_site *site)
{
    return site->module == FM_NONE && site->address == 0 && site->frame_count > 0;
}

#endif
