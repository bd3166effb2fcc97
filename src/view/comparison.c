/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - how alike two profiles are, for people and for programs. */
#include <fathom/view.h>

#include "base/json_text.h"
#include "base/sized.h"
#include "view/text.h"

#include <inttypes.h>

void fm_view_comparison_sized(size_t given_size, FILE *out, const fm_comparison *given, const char *name_a,
                              const char *name_b)
{
    fm_comparison known;
    fm_sized_copy(&known, sizeof known, given, given_size);
    const fm_comparison *comparison = &known;
    fputs("A  ", out);
    fm_text_write_name(out, name_a, false);
    fputs("\nB  ", out);
    fm_text_write_name(out, name_b, false);
    fputs("\n\n1 is alike:\n", out);
    fprintf(out, "  overlap        %.6f  1 - E/2 of Ding & Zhong; all references, finest common bins\n",
            comparison->overlap);
    fprintf(out, "  overlap, log2  %.6f  the same on power-of-two bins, as fathom predict expects it\n",
            comparison->overlap_log2);
    fprintf(out, "  similarity     %.6f  S of RDX; reuses, power-of-two bins\n", comparison->similarity);
    fprintf(out, "  smoothed       %.6f  S^ of RDX; the same over pairs of adjacent bins\n",
            comparison->similarity_smoothed);
    fputs("0 is alike:\n", out);
    fprintf(out, "  average error  %.6f  of HP-RDA; mean difference of the power-of-two bins' shares\n",
            comparison->average_error);
    fprintf(out, "  curve, largest %.6f  difference of the miss ratios, at %s blocks\n",
            comparison->curve_largest, fm_text_count(comparison->curve_largest_at).text);
    fprintf(out, "  curve, mean    %.6f  over log-spaced sizes from 1 block to the larger footprint\n",
            comparison->curve_mean);
}

void fm_view_comparison_json_sized(size_t given_size, FILE *out, const fm_comparison *given,
                                   const char *name_a, const char *name_b)
{
    fm_comparison known;
    fm_sized_copy(&known, sizeof known, given, given_size);
    const fm_comparison *comparison = &known;
    fputs("{\n  \"schema\": \"fathom-comparison-1\",\n  \"a\": ", out);
    fm_json_write_string(out, name_a, FM_JSON_PLAIN);
    fputs(",\n  \"b\": ", out);
    fm_json_write_string(out, name_b, FM_JSON_PLAIN);
    fprintf(out, ",\n  \"a_exact\": %s,\n  \"b_exact\": %s", comparison->a_exact ? "true" : "false",
            comparison->b_exact ? "true" : "false");
    const struct {
        const char *key;
        double value;
    } fields[] = {{"overlap", comparison->overlap},
                  {"overlap_log2", comparison->overlap_log2},
                  {"similarity", comparison->similarity},
                  {"similarity_smoothed", comparison->similarity_smoothed},
                  {"average_error", comparison->average_error},
                  {"curve_largest", comparison->curve_largest},
                  {"curve_mean", comparison->curve_mean}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fprintf(out, ",\n  \"%s\": ", fields[i].key);
        fm_json_write_real(out, fields[i].value);
    }
    fprintf(out, ",\n  \"curve_largest_at\": %" PRIu64 "\n}\n", comparison->curve_largest_at);
}
