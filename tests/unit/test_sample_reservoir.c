/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_reservoir.c - which sample gets a debug register: by counting, over many runs. */
#include "case.h"

#include "collect/reservoir.h"

#include <math.h>

static double share(uint64_t units, int bits)
{
    return (double)units / (double)(UINT64_C(1) << bits);
}

/* One register, nothing ever traps: after n samples each of them is in it with probability 1/n. */
CASE(one_register_holds_each_sample_alike)
{
    enum { RUNS = 100000, SAMPLES = 10 };
    unsigned held[SAMPLES] = {0};
    for (unsigned run = 0; run < RUNS; run++) {
        fm_reservoir reservoir;
        fm_reservoir_start(&reservoir, 1, true, run);
        int holds = 0;
        for (int i = 0; i < SAMPLES; i++) {
            const fm_reservoir_choice choice = fm_reservoir_offer(&reservoir);
            assert_true(fabs(share(choice.armed, FM_RESERVOIR_ARMED_BITS) - 1.0 / (i + 1)) < 1e-9);
            assert_int_equal(choice.replaces, choice.place >= 0 && i > 0);
            if (choice.place >= 0) holds = i;
        }
        held[holds]++;
    }
    /* Five standard deviations of a binomial. */
    const double expected = RUNS / (double)SAMPLES, allowed = 5 * sqrt(expected * (1 - 1.0 / SAMPLES));
    for (int i = 0; i < SAMPLES; i++) assert_true(fabs(held[i] - expected) < allowed);
}

/* Weights of 1/armed, and of 1/(armed kept) for what is still there at the end, are right in the mean: they
 * sum to the number of samples. Traps free registers in between, some more often than others. */
CASE(probabilities_are_what_they_say)
{
    enum { RUNS = 40000, SAMPLES = 40 };
    for (uint32_t registers = 1; registers <= 5; registers++)
        for (int plain = 0; plain <= 1; plain++) {
            double armed_sum = 0, kept_sum = 0, armed_squares = 0, kept_squares = 0;
            for (uint64_t run = 0; run < RUNS; run++) {
                fm_reservoir reservoir;
                fm_reservoir_start(&reservoir, registers, plain, run * 7 + registers);
                double weight[FM_RESERVOIR_MOST], armed_of_run = 0, kept_of_run = 0;
                int sample[FM_RESERVOIR_MOST];
                for (uint32_t k = 0; k < registers; k++) sample[k] = -1;
                for (int i = 0; i < SAMPLES; i++) {
                    /* Each third sample's block is used again eleven samples later. */
                    for (uint32_t k = 0; k < registers; k++)
                        if (sample[k] >= 0 && sample[k] % 3 == 0 && sample[k] + 11 == i) {
                            const double kept =
                                share(fm_reservoir_release(&reservoir, k), FM_RESERVOIR_KEPT_BITS);
                            kept_of_run += weight[k] / kept;
                            sample[k] = -1;
                        }
                    const fm_reservoir_choice choice = fm_reservoir_offer(&reservoir);
                    if (choice.place < 0) continue;
                    assert_int_equal(choice.replaces, sample[choice.place] >= 0);
                    weight[choice.place] = 1 / share(choice.armed, FM_RESERVOIR_ARMED_BITS);
                    sample[choice.place] = i;
                    armed_of_run += weight[choice.place];
                }
                for (uint32_t k = 0; k < registers; k++)
                    if (sample[k] >= 0)
                        kept_of_run += weight[k] / share(reservoir.at[k].kept, FM_RESERVOIR_KEPT_BITS);
                armed_sum += armed_of_run;
                armed_squares += armed_of_run * armed_of_run;
                kept_sum += kept_of_run;
                kept_squares += kept_of_run * kept_of_run;
            }
            const double armed = armed_sum / RUNS, kept = kept_sum / RUNS;
            const double armed_error = sqrt((armed_squares / RUNS - armed * armed) / RUNS);
            const double kept_error = sqrt((kept_squares / RUNS - kept * kept) / RUNS);
            assert_true(fabs(armed - SAMPLES) < 5 * armed_error + 1e-6);
            assert_true(fabs(kept - SAMPLES) < 5 * kept_error + 1e-3);
        }
}

/* Where the plain one has stopped changing, the capped one goes on: registers are replaced once in 17, 65,
 * 257 and 1025 samples that reach them. */
CASE(a_capped_register_is_replaced_again_and_again)
{
    for (int plain = 0; plain <= 1; plain++) {
        fm_reservoir reservoir;
        fm_reservoir_start(&reservoir, 4, plain, 3);
        unsigned late[4] = {0};
        for (unsigned i = 0; i < 200000; i++) {
            const fm_reservoir_choice choice = fm_reservoir_offer(&reservoir);
            if (i >= 100000 && choice.place >= 0) late[choice.place]++;
        }
        if (plain) {
            assert_true(late[0] + late[1] + late[2] + late[3] < 20);
        } else {
            assert_true(late[0] > 4000 && late[0] < 100000 / 17 + 400);
            assert_true(late[3] > 50 && late[3] < 100000 / 1025 + 60);
        }
    }
    /* All registers have caps, whatever their number. */
    for (uint32_t registers = 1; registers <= FM_RESERVOIR_MOST; registers++)
        for (uint32_t k = 0; k < registers; k++) {
            const uint32_t cap = fm_reservoir_cap(registers, k);
            assert_true(cap >= 16 && cap <= 1024 && (k == 0 || cap >= fm_reservoir_cap(registers, k - 1)));
        }
}
