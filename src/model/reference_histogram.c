/* SPDX-License-Identifier: Apache-2.0 */
/* reference_histogram.c - see reference_histogram.h. */
#include "model/reference_histogram.h"

void fm_reference_histogram(const fm_histogram *histogram, double *means, size_t shares)
{
    double total = 0;
    for (size_t i = 0; i < histogram->count; i++) total += (double)histogram->bins[i].count;
    const double share = total / (double)shares;
    size_t bin = 0;
    double used = 0; /* of the bin's count */
    for (size_t i = 0; i < shares; i++) {
        double wanted = share, sum = 0, got = 0;
        while (wanted > share * 1e-9 && bin < histogram->count) {
            const fm_bin *from = &histogram->bins[bin];
            const double count = (double)from->count, width = (double)(from->hi - from->lo);
            const double part = count - used < wanted ? count - used : wanted;
            sum += part * ((double)from->lo + width * (used + part / 2) / count);
            got += part;
            wanted -= part;
            used += part;
            if (used >= count) {
                bin++;
                used = 0;
            }
        }
        means[i] = got > 0 ? sum / got : (double)histogram->bins[histogram->count - 1].hi;
    }
}
