/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmu_record.h - reads what the kernel writes into the ring of a perf event: pure functions on bytes, for the
 * runtime inside programs (no calls, no allocation) and for tests. Nothing in the ring is believed: a size
 * that cannot be leads behind all that is there.
 *
 * A ring is `size` bytes, a power of two; `head` and `tail` count all bytes ever written and read. A record
 * has a header of 8 bytes and may go round the end of the ring.
 */
#ifndef FATHOM_COLLECT_SAMPLE_PMU_RECORD_H
#define FATHOM_COLLECT_SAMPLE_PMU_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum fm_pmu_record_kind {
    FM_PMU_RECORD_NONE, /* all was read */
    FM_PMU_RECORD_SAMPLE,
    FM_PMU_RECORD_LOST,     /* `lost` records found no room */
    FM_PMU_RECORD_THROTTLE, /* fewer samples are taken from now on, for a while */
    FM_PMU_RECORD_OTHER,
    FM_PMU_RECORD_DAMAGED, /* impossible: what there was is skipped */
} fm_pmu_record_kind;

typedef struct fm_pmu_record {
    bool user;        /* the sample is of the program, not of the kernel */
    uint64_t ip;      /* address of the instruction */
    uint64_t address; /* of the data; 0: none is known */
    uint64_t period;  /* 0: not told */
    uint64_t weight;  /* latency in cycles; 0: not told */
    uint64_t source;  /* union perf_mem_data_src; 0: not told */
    uint64_t lost;
} fm_pmu_record;

enum { FM_PMU_WORDS_MOST = 16 }; /* of a sample that we understand */
/* What samples may hold: words only, one each, in the order of the bits but for the exceptions below. */
#define FM_PMU_SAMPLE_TYPES                                                                                  \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |               \
     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_WEIGHT |                     \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_IDENTIFIER)

/* The 8 bytes at a position, which is a multiple of 8. */
static inline uint64_t fm_pmu_ring_word(const uint8_t *ring, uint64_t size, uint64_t position)
{
    return *(const uint64_t *)(const void *)(ring + (position & (size - 1)));
}

/* Takes the next word of a sample, where its type has it. */
static inline uint64_t fm_pmu_take(const uint64_t *words, uint32_t *at, uint64_t type, uint64_t bit)
{
    return type & bit ? words[(*at)++] : 0;
}

/* A sample's words into its fields. False: they are not as many as its type says. */
static inline bool fm_pmu_sample_parse(const uint64_t *words, uint32_t count, uint64_t type,
                                       fm_pmu_record *record)
{
    uint32_t at = 0;
    if (type & ~(uint64_t)FM_PMU_SAMPLE_TYPES || count != (uint32_t)__builtin_popcountll(type)) return false;
    fm_pmu_take(words, &at, type, PERF_SAMPLE_IDENTIFIER);
    record->ip = fm_pmu_take(words, &at, type, PERF_SAMPLE_IP);
    fm_pmu_take(words, &at, type, PERF_SAMPLE_TID);
    fm_pmu_take(words, &at, type, PERF_SAMPLE_TIME);
    record->address = fm_pmu_take(words, &at, type, PERF_SAMPLE_ADDR);
    fm_pmu_take(words, &at, type, PERF_SAMPLE_ID);
    fm_pmu_take(words, &at, type, PERF_SAMPLE_STREAM_ID);
    fm_pmu_take(words, &at, type, PERF_SAMPLE_CPU);
    record->period = fm_pmu_take(words, &at, type, PERF_SAMPLE_PERIOD);
    record->weight = fm_pmu_take(words, &at, type, PERF_SAMPLE_WEIGHT);
    record->source = fm_pmu_take(words, &at, type, PERF_SAMPLE_DATA_SRC);
    return true;
}

/* The next record before `head`; *tail is behind it afterwards. type: sample_type of the event. */
static inline fm_pmu_record_kind fm_pmu_record_next(const uint8_t *ring, uint64_t size, uint64_t head,
                                                    uint64_t *tail, uint64_t type, fm_pmu_record *record)
{
    uint64_t words[FM_PMU_WORDS_MOST];
    const uint64_t waiting = head - *tail;
    *record = (fm_pmu_record){0};
    if (waiting == 0) return FM_PMU_RECORD_NONE;
    const uint64_t from = *tail;
    *tail = head;
    if (size < 8 || size & (size - 1) || from % 8 || head % 8 || waiting > size) return FM_PMU_RECORD_DAMAGED;
    const uint64_t header = fm_pmu_ring_word(ring, size, from); /* type: 32 bits, misc: 16, size: 16 */
    const uint64_t bytes = header >> 48;
    if (bytes < 8 || bytes % 8 || bytes > waiting) return FM_PMU_RECORD_DAMAGED;
    *tail = from + bytes;
    const uint32_t count = (uint32_t)(bytes / 8 - 1);
    for (uint32_t i = 0; i < count && i < FM_PMU_WORDS_MOST; i++)
        words[i] = fm_pmu_ring_word(ring, size, from + 8 + (uint64_t)8 * i);
    switch ((uint32_t)header) {
    case PERF_RECORD_SAMPLE:
        record->user = (header >> 32 & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
        if (count <= FM_PMU_WORDS_MOST && fm_pmu_sample_parse(words, count, type, record))
            return FM_PMU_RECORD_SAMPLE;
        return FM_PMU_RECORD_DAMAGED;
    case PERF_RECORD_LOST: /* id, lost */
        if (count < 2) return FM_PMU_RECORD_DAMAGED;
        record->lost = words[1];
        return FM_PMU_RECORD_LOST;
    case PERF_RECORD_LOST_SAMPLES:
        if (count < 1) return FM_PMU_RECORD_DAMAGED;
        record->lost = words[0];
        return FM_PMU_RECORD_LOST;
    case PERF_RECORD_THROTTLE:
        return FM_PMU_RECORD_THROTTLE;
    default:
        return FM_PMU_RECORD_OTHER;
    }
}

/* ---- counts ---- */

/*
 * The count of an event, by its mapped page: what the kernel stored, and what the counter shows that it is in
 * (linux/perf_event.h says how). False: the kernel does not allow it here. No system call, no descriptor.
 */
static inline bool fm_pmu_count(const struct perf_event_mmap_page *page, uint64_t *count)
{
    uint32_t sequence;
    do {
        sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        const uint32_t index = page->index;
        *count = (uint64_t)page->offset;
        if (!page->cap_user_rdpmc) return false;
        if (index > 0) {
            const uint32_t width = page->pmc_width, unused = width > 0 && width < 64 ? 64 - width : 0;
            uint32_t low, high;
            __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
            const uint64_t value = ((uint64_t)high << 32 | low) << unused;
            *count += (uint64_t)((int64_t)value >> unused);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != sequence);
    return true;
}

#endif
