/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_module.h - what the library asks of a module that counts on a graphics card, and nothing more.
 *
 * The module (modules/cuda) is a shared object that gpu_batches.c opens when an engine needs it. It knows
 * batches, stacks and counts; it knows nothing of files, options or profiles, and calls nothing of the
 * library. The other side of this interface is gpu.c, which cuts a trace into batches; tests put a plain C
 * stand-in behind it.
 *
 * A card holds a *stack*: the distinct blocks that were referenced so far, the most recent last. A batch is
 * counted as if the stack's blocks had been referenced, in their order, just before it: that makes the
 * distances of its references exact whatever came before. Then the stack is brought up to date. Distances are
 * counted into histograms that stay on the card until they are fetched.
 *
 * References travel in pieces: host memory that cards can read (`pin`), a few megabytes each, whoever filled
 * them. Pieces have numbers; a card remembers of each number what it has not read yet, and nothing else. It
 * gathers references in one of two slots, one of which is filled while the other is counted. Pieces may be
 * filled, uploaded and waited for by several threads beside the one that counts; everything else is called by
 * one thread at a time.
 */
#ifndef FATHOM_ENGINE_GPU_MODULE_H
#define FATHOM_ENGINE_GPU_MODULE_H

#include <fathom/profile.h>
#include <fathom/status.h>

#define FM_GPU_MODULE_FILE "fathom-cuda.so"
#define FM_GPU_MODULE_SYMBOL "fathom_gpu_module"

enum {
    FM_GPU_INTERFACE = 3, /* of the structs below; raised when any of them changes */
    FM_GPU_SLOTS = 2,
    FM_GPU_PIECES = 32,
};

/* Blocks of the stack and references of a batch, together: positions are 32-bit numbers. */
#define FM_GPU_MOST ((size_t)1 << 31)

/* What the time of a batch went into; each has its seconds. */
typedef enum fm_gpu_stage {
    FM_GPU_STAGE_UPLOAD,  /* waiting for the references to arrive */
    FM_GPU_STAGE_KEYS,    /* which bits of the blocks differ; packing these */
    FM_GPU_STAGE_SORT,    /* by block, then time */
    FM_GPU_STAGE_LINK,    /* each reference to the one before it to its block */
    FM_GPU_STAGE_SPLIT,   /* by the position of that one, several bits at a time */
    FM_GPU_STAGE_FINISH,  /* the last 13 bits, and the histogram */
    FM_GPU_STAGE_STACK,   /* the stack after the batch */
    FM_GPU_STAGE_DELIVER, /* time distances, distances one by one */
    FM_GPU_STAGES
} fm_gpu_stage;

typedef struct fm_gpu_description {
    char name[128];
    uint64_t memory_total, memory_free; /* bytes of the card */
} fm_gpu_description;

typedef struct fm_gpu_setup {
    unsigned device;
    size_t batch; /* references that a slot can hold; stack and batch together: at most FM_GPU_MOST */
    size_t stack; /* blocks that the stack can hold */
    fm_bins bins;
    uint64_t bound;   /* 0: none; otherwise distances from here on are counted as beyond */
    bool count;       /* distances are counted into a histogram on the card */
    bool count_times; /* time distances too; not with one bin per distance */
    bool each;        /* distances (and time distances) can be asked for one by one */
    bool times;       /* the stack carries times */
} fm_gpu_setup;

typedef struct fm_gpu_batch {
    /* Given: */
    unsigned slot;
    size_t count;         /* at least 1 */
    uint64_t first_time;  /* of its first reference; with times */
    size_t keep;          /* blocks to keep in the stack afterwards, the most recent ones */
    uint64_t *distances;  /* NULL, or `count` of them are written here: FM_COLD, FM_BEYOND or the distance */
    uint64_t *times;      /* the same with time distances; FM_COLD or the time distance */
    uint64_t *new_blocks; /* NULL, or the `cold` blocks that were new, in order, are written here */
    /* Answered: */
    size_t cold;  /* references to blocks that were neither in the stack nor before in the batch */
    size_t stack; /* blocks in the stack now; cold more than before, or `keep` */
    double seconds[FM_GPU_STAGES];
} fm_gpu_batch;

typedef struct fm_gpu_counts {
    /* Given: */
    size_t bins;         /* room in each of the arrays; no count may be in a bin from there on */
    uint64_t *distances; /* added to: one count for each bin of setup.bins */
    uint64_t *times;     /* NULL, or added to */
    /* Answered: */
    uint64_t total, beyond; /* distances counted in bins, and at or over the bound */
    uint64_t times_total;
} fm_gpu_counts;

/* ---- HP-RDA on the card: see hp_rda.h ---- */
struct fm_hp_rda_shape;
struct fm_hp_rda_trace;

typedef struct fm_gpu_card fm_gpu_card;
typedef struct fm_gpu_hp_rda fm_gpu_hp_rda;

typedef struct fm_gpu_module {
    uint32_t interface; /* FM_GPU_INTERFACE */
    /* Fails with FM_E_UNSUPPORTED where there is no driver, one that is too old, or no device. */
    fm_status (*devices)(unsigned *count, fm_error *error);
    fm_status (*describe)(unsigned device, fm_gpu_description *description, fm_error *error);
    /* Bytes of card memory that open would take. */
    uint64_t (*memory_needed)(const fm_gpu_setup *setup);
    fm_status (*open)(fm_gpu_card **card, const fm_gpu_setup *setup, fm_error *error);
    void (*close)(fm_gpu_card *card); /* NULL is fine */
    /* Memory of the host that all cards can read: for pieces. device: one that is, or will be, open. */
    fm_status (*pin)(unsigned device, size_t bytes, void **memory, fm_error *error);
    void (*unpin)(void *memory); /* NULL is fine */
    /* Waits until what was uploaded to the card as piece number `piece` may be overwritten. */
    fm_status (*wait_for_piece)(fm_gpu_card *card, unsigned piece, fm_error *error);
    /* Starts to copy references of a piece to the card, as references [at, at + count) of a slot. */
    fm_status (*upload)(fm_gpu_card *card, unsigned piece, const uint64_t *references, size_t count,
                        unsigned slot, size_t at, fm_error *error);
    /* Counts a batch whose references were all uploaded. On failure the stack is lost. */
    fm_status (*count)(fm_gpu_card *card, fm_gpu_batch *batch, fm_error *error);
    /* From block number `from` on, oldest first, the stack is these; it has from + count then. There must be
     * `from` already. times may be NULL where setup.times is false. */
    fm_status (*load_stack)(fm_gpu_card *card, size_t from, const uint64_t *blocks, const uint64_t *times,
                            size_t count, fm_error *error);
    /* The stack, oldest first. */
    fm_status (*fetch_stack)(fm_gpu_card *card, uint64_t *blocks, uint64_t *times, size_t count,
                             fm_error *error);
    /* The histograms; they are empty then. */
    fm_status (*fetch_counts)(fm_gpu_card *card, fm_gpu_counts *counts, fm_error *error);

    fm_status (*hp_rda_open)(fm_gpu_hp_rda **state, unsigned device, const struct fm_hp_rda_shape *shape,
                             fm_error *error);
    void (*hp_rda_close)(fm_gpu_hp_rda *state);
    fm_status (*hp_rda_analyze)(fm_gpu_hp_rda *state, const uint64_t *blocks, size_t count,
                                struct fm_hp_rda_trace *result, fm_error *error);
} fm_gpu_module;

#endif
