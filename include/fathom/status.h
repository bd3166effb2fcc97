/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - how every call of libfathom reports failure.
 *
 * The one convention: a call that can fail returns an fm_status, FM_OK being 0, and takes as its
 * last argument an fm_error that may be NULL. On failure the fm_error says which file, where in it,
 * and why. It is a plain struct of fixed size: reporting that memory ran out needs no memory.
 *
 * The library never prints, exits or aborts (but see fathom.h about clusters).
 */
#ifndef FATHOM_STATUS_H
#define FATHOM_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FM_API __attribute__((visibility("default")))
#else
#define FM_API
#endif

/*
 * A call with a struct that grows (fathom.h, "Structs that grow"): FM_SIZED(result, name, type, (parameters),
 * (arguments)) declares what the library exports, `result name_sized(size_t size, parameters)`, and the
 * inline function `result name(parameters)`, which hands sizeof(type) to it. result: fm_status or void.
 * FM_SIZED_BY is the same with several sizes.
 */
#define FM_SIZED(result, name, type, parameters, arguments)                                                  \
    FM_SIZED_BY(result, name, (size_t), (sizeof(type)), parameters, arguments)
#define FM_SIZED_BY(result, name, sizes, values, parameters, arguments)                                      \
    FM_API result name##_sized(FM_LIST sizes, FM_LIST parameters);                                           \
    static inline result name parameters                                                                     \
    {                                                                                                        \
        FM_RETURN_##result name##_sized(FM_LIST values, FM_LIST arguments);                                  \
    }                                                                                                        \
    FM_API result name##_sized(FM_LIST sizes, FM_LIST parameters) /* again: its semicolon is the caller's */
#define FM_LIST(...) __VA_ARGS__
#define FM_RETURN_fm_status return
#define FM_RETURN_void

#ifdef __cplusplus
extern "C" {
#endif

/* The values are pinned: they never change meaning, new ones are added at the end. */
typedef enum fm_status {
    FM_OK = 0,
    FM_E_NOMEM = 1,       /* the system refused memory */
    FM_E_LIMIT = 2,       /* a limit the caller set (max_memory) cannot be kept */
    FM_E_IO = 3,          /* the operating system refused to open, read or write */
    FM_E_FORMAT = 4,      /* the input is not in the format that was given or that it seems to have */
    FM_E_TRUNCATED = 5,   /* damage: the input ends early; everything before it was delivered */
    FM_E_CORRUPT = 6,     /* damage: a part of the input is unusable; what was delivered is sound */
    FM_E_UNSUPPORTED = 7, /* a newer version, or a part this build was made without */
    FM_E_ARGUMENT = 8,    /* the caller's arguments contradict each other or the data */
    FM_E_INTERNAL = 9,    /* a result that cannot be true (fm_profile_check): a fault of the library's own */
} fm_status;

/* What fm_error.offset counts. */
typedef enum fm_place {
    FM_PLACE_NONE = 0,
    FM_PLACE_BYTE =
        1, /* byte offset from 0, in the (decompressed) content unless the reason says otherwise */
    FM_PLACE_LINE = 2, /* line number from 1 */
} fm_place;

typedef struct fm_error {
    fm_status status;
    fm_place place;
    uint64_t offset;  /* see place */
    uint64_t lost;    /* references known to be missing because of this; 0 also where nobody can know */
    char path[512];   /* file the trouble is in; empty when it is in none. Long paths keep their end */
    char reason[512]; /* one sentence fragment, no full stop: "expected a number, found 'x'" */
} fm_error;

/* "truncated", "out of memory", …: a word for a status. Never NULL. */
FM_API const char *fm_status_name(fm_status status);

/* FM_E_TRUNCATED and FM_E_CORRUPT: what was read so far is sound, only some of the input is missing. */
FM_API bool fm_status_is_damage(fm_status status);

/* Writes "path: byte 123: reason" into buffer, always terminated. Returns buffer. */
FM_API char *fm_error_message(const fm_error *error, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
