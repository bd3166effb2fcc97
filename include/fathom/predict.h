/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict.h - profiles of inputs that were never run: patterns found in profiles of smaller ones.
 *
 * C. Ding, Y. Zhong: Predicting whole-program locality through reuse distance analysis, PLDI 2003,
 * sections 2.2 and 2.3. Two runs or more with inputs of different sizes train a model: how the distance of
 * each share of the reuses (the shortest 0.1 %, the next 0.1 %, …) grows with the size of the data. The model
 * predicts the profile for another size; and a sampler finds that size at the beginning of a run.
 */
#ifndef FATHOM_PREDICT_H
#define FATHOM_PREDICT_H

#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a distance grows with the size s of the data: c + e f(s). */
typedef enum fm_growth {
    FM_GROWTH_CONSTANT = 0,    /* f = 0 */
    FM_GROWTH_CUBE_ROOT = 1,   /* s^1/3: three dimensions */
    FM_GROWTH_SQUARE_ROOT = 2, /* s^1/2: two dimensions */
    FM_GROWTH_TWO_THIRDS = 3,  /* s^2/3: three dimensions */
    FM_GROWTH_LINEAR = 4,      /* s */
} fm_growth;
enum { FM_GROWTHS = 5 };
FM_API const char *fm_growth_name(fm_growth growth); /* "constant", "x^1/3", "x^1/2", "x^2/3", "linear" */
FM_API double fm_growth_exponent(fm_growth growth);

/* One share of the reuses. */
typedef struct fm_model_share {
    fm_growth growth;
    double c, e;     /* distance = c + e * size^exponent, in blocks */
    double mismatch; /* how badly it fits: the error of the exponent, between 0 and some 1 */
} fm_model_share;

typedef struct fm_training_run {
    char *name; /* may be NULL */
    double size;
    uint64_t references, distinct;
    bool incomplete;       /* its profile is of incomplete input */
    size_t distance_count; /* one for each share of the reuses: */
    double *distances;     /* its mean distance in this run */
} fm_training_run;

typedef struct fm_model {
    uint64_t granularity;
    double percent;      /* of the reuses, that a share stands for */
    unsigned dimensions; /* 1, 2 or 3: of the data; roots of different dimensions are not mixed */
    size_t run_count;
    fm_training_run *runs; /* ascending sizes */
    /* references = factor * size^exponent; distinct = c + e * size */
    double references_factor, references_exponent;
    double distinct_c, distinct_e;
    size_t share_count;
    fm_model_share *shares; /* the shortest distances first */
    bool elements;          /* of its profiles: see fm_profile */
} fm_model;

/* Sizes less than a tenth apart are one size. */
#define FM_SIZES_APART 1.1

typedef struct fm_training_options {
    double percent;      /* 0: 0.1 */
    unsigned dimensions; /* 0: all are tried, the best fit is taken */
    const double *sizes; /* of each profile's data; NULL: the number of its distinct blocks */
} fm_training_options;

/* At least two profiles of one granularity, of different sizes, without bounds. */
FM_SIZED(fm_status, fm_model_train, fm_training_options,
         (fm_model **model, const fm_profile *const *profiles, size_t count,
          const fm_training_options *options, fm_error *error),
         (model, profiles, count, options, error));
FM_API void fm_model_destroy(fm_model *model); /* NULL is fine */

/* JSON, schema fathom-model-1 (docs/PREDICT.md); "-" is standard output, or input. */
FM_API fm_status fm_model_write(const char *path, const fm_model *model, fm_error *error);
FM_API fm_status fm_model_read(const char *path, fm_model **model, fm_error *error);

/* The profile for data of that size: not exact, engine "predicted", with the expected accuracy. */
FM_API fm_status fm_model_predict(const fm_model *model, double size, fm_bins bins, fm_profile **profile,
                                  fm_error *error);
/* What a prediction is worth. In nine cases of ten the actual profile keeps both limits. */
typedef struct fm_expectation {
    double overlap;           /* with the actual profile at least: 1 - E/2 on power-of-two bins */
    double references_factor; /* the actual references are as many as predicted, divided or multiplied by at
                                 most this */
    size_t sizes;             /* that the runs had; with two nothing checks the fit */
    double octaves;           /* powers of two from the sizes seen to this one; 0: it is between them */
    bool trusted;             /* overlap and references_factor are good enough to rely on */
} fm_expectation;
FM_SIZED(fm_status, fm_model_expect, fm_expectation,
         (const fm_model *model, double size, fm_expectation *expectation, fm_error *error),
         (model, size, expectation, error));
#define FM_TRUSTED 0.85       /* overlap, at least */
#define FM_TRUSTED_FACTOR 2.0 /* references_factor, at most */

/*
 * Distance-based sampling (section 2.3). A reference whose distance is over the threshold makes its block a
 * data sample, if it is far enough from the other ones; later distances over the threshold of the same block
 * are its time samples; a time sample that is not below its neighbours, but for a tenth, is a peak. The size
 * of the data is the largest of the first data samples' k-th peaks.
 */
typedef struct fm_sampler_options {
    uint64_t threshold;  /* blocks */
    unsigned samples;    /* data samples that must have their peaks; 0: 2 */
    unsigned peaks;      /* which peak of each; 0: the first */
    uint64_t separation; /* least difference of two data samples' block numbers; 0: a tenth of the first
                            distance over the threshold */
} fm_sampler_options;
enum { FM_MOST_DATA_SAMPLES = 64 };
typedef struct fm_sampler fm_sampler;
FM_SIZED(fm_status, fm_sampler_create, fm_sampler_options,
         (fm_sampler **sampler, const fm_sampler_options *options, fm_error *error),
         (sampler, options, error));
FM_API void fm_sampler_destroy(fm_sampler *sampler);
/* References in order: their blocks and their distances (FM_COLD for first touches). */
FM_API fm_status fm_sampler_feed(fm_sampler *sampler, const uint64_t *blocks, const uint64_t *distances,
                                 size_t count, fm_error *error);
/* True when the size is known: the number of the reference that showed it, and the size. */
FM_API bool fm_sampler_found(const fm_sampler *sampler, uint64_t *size, uint64_t *after);
FM_API const fm_data_sample *fm_sampler_samples(const fm_sampler *sampler, size_t *count);
/* Whether time sample `index` is a peak; of the last one nobody knows yet: no. */
FM_API bool fm_time_sample_is_peak(const fm_data_sample *sample, size_t index);

#ifdef __cplusplus
}
#endif
#endif
