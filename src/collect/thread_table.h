/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_table.h - the threads of a process by number, from 1. Threads come and go, numbers are not used
 * again: what is kept of one that is over is one bit, so that a process may have had millions.
 */
#ifndef FATHOM_COLLECT_THREAD_TABLE_H
#define FATHOM_COLLECT_THREAD_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct fm_traced_thread;

enum {
    FM_THREADS_A_PAGE = 1024,
    FM_THREAD_NUMBER_MOST = 1 << 26, /* the table takes 9 MiB then */
    FM_THREADS_AT_ONCE = 1 << 20,    /* the kernel's own limit is 4 million for all processes */
};

typedef struct fm_thread_page {
    struct fm_traced_thread **slots; /* NULL: none of them is there */
    uint32_t live;
    uint64_t seen[FM_THREADS_A_PAGE / 64]; /* was there ever */
} fm_thread_page;

/* All zeroes is an empty table. */
typedef struct fm_thread_table {
    fm_thread_page *pages;
    size_t page_count;
    size_t live, seen; /* threads */
} fm_thread_table;

/* NULL: it is not there. */
struct fm_traced_thread *fm_thread_table_find(const fm_thread_table *table, uint32_t number);
/* 0, or -1 when memory is short. number: from 1 to FM_THREAD_NUMBER_MOST, and not there. */
int fm_thread_table_add(fm_thread_table *table, uint32_t number, struct fm_traced_thread *thread);
void fm_thread_table_remove(fm_thread_table *table, uint32_t number);
/* free_thread is called for each that is there. */
void fm_thread_table_clear(fm_thread_table *table, void (*free_thread)(struct fm_traced_thread *));

#endif
