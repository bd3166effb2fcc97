/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_lookback.c - see native_lookback.h.
 *
 * Programs touch a few streams in turn (the stack, two arrays, a table), so the difference to the last
 * address jumps about, but the difference to the address one turn of the loop ago is small and the same
 * every time. The reader only adds; all cleverness is in which of the last 256 values is chosen:
 *
 *   1. what was right the last time after the same two choices: loops then repeat their bytes exactly,
 *      which is what zstd finds best;
 *   2. else the nearest value among the last NEAR, the latest of those.
 *
 * The second is needed for every third to second reference and compares 32 values each time: that is done in
 * vectors where the machine has them.
 */
#include "trace/native/native_lookback.h"

#include "base/memory.h"
#include "trace/native/native_planes.h"

#include <stdlib.h>
#include <string.h>

enum {
    HISTORY = 256,     /* a look-back byte reaches this far */
    NEAR = 32,         /* values that are tried for the smallest difference */
    CONTEXT_BITS = 13, /* of the table of earlier choices */
};

typedef struct choice {
    uint64_t difference;
    uint32_t back;
    uint32_t mixed; /* of the two: its share in the context of the next choices */
} choice;

typedef void (*chooser)(choice *contexts, const uint64_t *values, size_t count, uint8_t *back,
                        uint64_t *codes);

struct fm_native_lookback {
    chooser choose;
    choice contexts[1 << CONTEXT_BITS];
};

static inline choice make_choice(uint64_t difference, uint32_t back)
{
    uint64_t mixed = (difference * 31 + back) * UINT64_C(0x9E3779B97F4A7C15);
    return (choice){difference, back, (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 32)};
}

/* The nearest of the last values, the latest of those that are equally near. */
static inline choice nearest_portable(const uint64_t *values, size_t i)
{
    size_t most = i < NEAR ? i : NEAR;
    uint64_t difference = values[i]; /* before the first reference: 0 */
    uint32_t best = (uint32_t)i;
    uint64_t least = i < HISTORY ? fm_zigzag(values[i]) : UINT64_MAX;
    for (size_t back = 0; back < most; back++) {
        uint64_t code = fm_zigzag(values[i] - values[i - 1 - back]);
        if (code < least || (back == 0 && i >= HISTORY)) {
            least = code;
            difference = values[i] - values[i - 1 - back];
            best = (uint32_t)back;
        }
    }
    return make_choice(difference, best);
}

static inline uint32_t context_of(uint32_t before, uint32_t last)
{
    return ((before << 9 | before >> 23) ^ last) >> (32 - CONTEXT_BITS);
}

/* Begins with references from `i` on, and after two choices: returns what the last two were. */
typedef struct memory_of_choices {
    uint32_t before, last; /* choice.mixed */
} memory_of_choices;

static memory_of_choices choose_branching(memory_of_choices memory, choice *contexts, const uint64_t *values,
                                          size_t from, size_t to, uint8_t *back, uint64_t *codes)
{
    for (size_t i = from; i < to; i++) {
        choice *known = &contexts[context_of(memory.before, memory.last)];
        uint64_t reached = known->back < i ? values[i - 1 - known->back] : 0;
        if (reached + known->difference != values[i]) *known = nearest_portable(values, i);
        back[i] = (uint8_t)known->back;
        codes[i] = fm_zigzag(known->difference);
        memory = (memory_of_choices){memory.last, known->mixed};
    }
    return memory;
}

static void choose_portable(choice *contexts, const uint64_t *values, size_t count, uint8_t *back,
                            uint64_t *codes)
{
    choose_branching((memory_of_choices){0, 0}, contexts, values, 0, count, back, codes);
}

/* The same where finding the nearest costs less than guessing wrong whether it is needed: it is found for
 * every value, beside the chain of choices. nearest is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void choose_always(choice (*nearest)(const uint64_t *, size_t),
                                                                choice *contexts, const uint64_t *values,
                                                                size_t count, uint8_t *back, uint64_t *codes)
{
    size_t begun = count < HISTORY ? count : HISTORY;
    memory_of_choices memory =
        choose_branching((memory_of_choices){0, 0}, contexts, values, 0, begun, back, codes);
    for (size_t i = begun; i < count; i++) {
        choice near = nearest(values, i);
        choice *known = &contexts[context_of(memory.before, memory.last)];
        choice now = *known;
        uint64_t wrong = values[i - 1 - now.back] + now.difference == values[i] ? 0 : UINT64_MAX;
        now.difference ^= (now.difference ^ near.difference) & wrong;
        now.back ^= (now.back ^ near.back) & (uint32_t)wrong;
        now.mixed ^= (now.mixed ^ near.mixed) & (uint32_t)wrong;
        *known = now;
        back[i] = (uint8_t)now.back;
        codes[i] = fm_zigzag(now.difference);
        memory = (memory_of_choices){memory.last, now.mixed};
    }
}

#ifdef __x86_64__
#include <immintrin.h>

/* Differences to the last 32 values, the oldest first: the highest bit of a mask is the latest value. */
__attribute__((target("avx512f"))) static inline choice nearest_avx512(const uint64_t *values, size_t i)
{
    const uint64_t *from = values + i - NEAR;
    __m512i value = _mm512_set1_epi64((long long)values[i]), code[4];
    for (int r = 0; r < 4; r++) {
        __m512i difference = _mm512_sub_epi64(value, _mm512_loadu_si512(from + 8 * r));
        code[r] =
            _mm512_xor_si512(_mm512_add_epi64(difference, difference), _mm512_srai_epi64(difference, 63));
    }
    __m512i least = _mm512_min_epu64(_mm512_min_epu64(code[0], code[1]), _mm512_min_epu64(code[2], code[3]));
    least = _mm512_set1_epi64((long long)_mm512_reduce_min_epu64(least));
    uint32_t where = 0;
    for (int r = 0; r < 4; r++) where |= (uint32_t)_mm512_cmpeq_epi64_mask(code[r], least) << (8 * r);
    uint32_t back = (uint32_t)__builtin_clz(where);
    return make_choice(values[i] - values[i - 1 - back], back);
}

__attribute__((target("avx512f"))) static void choose_avx512(choice *contexts, const uint64_t *values,
                                                             size_t count, uint8_t *back, uint64_t *codes)
{
    choose_always(nearest_avx512, contexts, values, count, back, codes);
}

__attribute__((target("avx2"))) static inline choice nearest_avx2(const uint64_t *values, size_t i)
{
    const uint64_t *from = values + i - NEAR;
    /* Comparisons are of signed numbers: with the highest bit turned, they order unsigned ones. */
    const __m256i turn = _mm256_set1_epi64x(INT64_MIN), zero = _mm256_setzero_si256();
    __m256i value = _mm256_set1_epi64x((long long)values[i]), code[8];
    for (int r = 0; r < 8; r++) {
        __m256i difference =
            _mm256_sub_epi64(value, _mm256_loadu_si256((const __m256i *)(const void *)(from + 4 * r)));
        __m256i sign = _mm256_xor_si256(_mm256_cmpgt_epi64(zero, difference), turn);
        code[r] = _mm256_xor_si256(_mm256_add_epi64(difference, difference), sign);
    }
    __m256i least = code[0];
    for (int r = 1; r < 8; r++)
        least = _mm256_blendv_epi8(least, code[r], _mm256_cmpgt_epi64(least, code[r]));
    __m256i other = _mm256_permute4x64_epi64(least, 0x4E); /* halves exchanged, then neighbours */
    least = _mm256_blendv_epi8(least, other, _mm256_cmpgt_epi64(least, other));
    other = _mm256_permute4x64_epi64(least, 0xB1);
    least = _mm256_blendv_epi8(least, other, _mm256_cmpgt_epi64(least, other));
    uint32_t where = 0;
    for (int r = 0; r < 8; r++)
        where |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(code[r], least)))
                 << (4 * r);
    uint32_t back = (uint32_t)__builtin_clz(where);
    return make_choice(values[i] - values[i - 1 - back], back);
}

__attribute__((target("avx2"))) static void choose_avx2(choice *contexts, const uint64_t *values,
                                                        size_t count, uint8_t *back, uint64_t *codes)
{
    choose_always(nearest_avx2, contexts, values, count, back, codes);
}

static chooser find_chooser(const char *isa)
{
    if ((!isa || strcmp(isa, "avx512") == 0) && __builtin_cpu_supports("avx512f")) return choose_avx512;
    if ((!isa || strcmp(isa, "avx2") == 0) && __builtin_cpu_supports("avx2")) return choose_avx2;
    return choose_portable;
}

#else

static chooser find_chooser(const char *isa)
{
    (void)isa;
    return choose_portable;
}

#endif

fm_native_lookback *fm_native_lookback_create(const char *isa)
{
    fm_native_lookback *lookback = fm_calloc(1, sizeof *lookback);
    if (lookback) lookback->choose = find_chooser(isa);
    return lookback;
}

void fm_native_lookback_destroy(fm_native_lookback *lookback)
{
    free(lookback);
}

void fm_native_lookback_choose(fm_native_lookback *lookback, const uint64_t *values, size_t count,
                               uint8_t *back, uint64_t *codes)
{
    memset(lookback->contexts, 0, sizeof lookback->contexts);
    lookback->choose(lookback->contexts, values, count, back, codes);
}
