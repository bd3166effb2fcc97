/* SPDX-License-Identifier: Apache-2.0 */
/* set_misses_json.c - the fields "set_associative" and "addresses" of a profile (docs/PROFILE.md). */
#include "profile/attribution/attribution_json.h"

#include "base/json.h"

#include <inttypes.h>

void fm_set_misses_write(FILE *out, const fm_profile *profile, const char *indent)
{
    fprintf(out, ",\n%s\"set_associative\": [", indent);
    for (size_t i = 0; i < profile->set_count; i++) {
        const fm_set_misses *one = &profile->set_misses[i];
        fprintf(out, "%s\n%s  {\"name\": ", i ? "," : "", indent);
        fm_json_write_string(out, one->name, FM_JSON_PLAIN);
        fprintf(out,
                ", \"sets\": %" PRIu64 ", \"ways\": %" PRIu64 ", \"line\": %" PRIu64
                ", \"references\": %" PRIu64 ", \"misses\": %" PRIu64 ", \"least\": %" PRIu64
                ", \"most\": %" PRIu64 ", \"certainty\": ",
                one->sets, one->ways, one->line, one->references, one->misses, one->least, one->most);
        fm_json_write_string(out, one->certainty, FM_JSON_PLAIN);
        putc('}', out);
    }
    fprintf(out, "\n%s]", indent);
    if (!profile->addresses) return;
    fprintf(out, ",\n%s\"addresses\": ", indent);
    fm_json_write_string(out, profile->addresses, FM_JSON_PLAIN);
}
