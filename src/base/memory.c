/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - see memory.h. */
#define _GNU_SOURCE
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

void *fm_calloc(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *fm_malloc_array(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    return malloc(count && size ? count * size : 1);
}

int fm_array_reserve(void **array, size_t *capacity, size_t needed, size_t element_size)
{
    if (needed <= *capacity) return 0;
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2) return -1;
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / element_size) return -1;
    void *grown = realloc(*array, wanted * element_size);
    if (!grown) return -1;
    *array = grown;
    *capacity = wanted;
    return 0;
}

static size_t rounded(size_t bytes)
{
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
    return bytes > SIZE_MAX - unit ? SIZE_MAX - SIZE_MAX % unit : (bytes + unit - 1) / unit * unit;
}

/* Huge pages only pay, and only keep the memory promise, where the table fills them. */
static void prefer_huge(void *pages, size_t bytes)
{
    if (bytes >= HUGE_PAGE) (void)madvise(pages, bytes, MADV_HUGEPAGE);
}

void *fm_pages_allocate(size_t bytes)
{
    size_t size = rounded(bytes);
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    prefer_huge(pages, size);
    return pages;
}

/* ThreadSanitizer does not know mremap, and takes another thread's pages of earlier for these. */
static void *move_pages(void *pages, size_t old_size, size_t new_size)
{
#if defined(__SANITIZE_THREAD__)
    void *moved = mmap(NULL, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (moved == MAP_FAILED) return moved;
    memcpy(moved, pages, old_size < new_size ? old_size : new_size);
    munmap(pages, old_size);
    return moved;
#else
    return mremap(pages, old_size, new_size, MREMAP_MAYMOVE);
#endif
}

/* Small pages that were moved to where huge ones are would stay small. */
static void *to_huge_pages(void *pages, size_t old_bytes, size_t new_bytes)
{
    void *moved = fm_pages_allocate(new_bytes);
    if (!moved) return NULL;
    memcpy(moved, pages, old_bytes);
    fm_pages_free(pages, old_bytes);
    return moved;
}

void *fm_pages_resize(void *pages, size_t old_bytes, size_t new_bytes)
{
    size_t size = rounded(new_bytes), old_size = rounded(old_bytes);
    if (size <= old_size) {
        if (size < old_size) munmap((char *)pages + size, old_size - size);
        return pages;
    }
    if (old_bytes < HUGE_PAGE && size >= HUGE_PAGE) return to_huge_pages(pages, old_bytes, new_bytes);
    void *moved = move_pages(pages, old_size, size);
    if (moved == MAP_FAILED) return NULL;
    prefer_huge(moved, size);
    return moved;
}

void fm_pages_prepare(void *pages, size_t from, size_t to)
{
#ifdef MADV_POPULATE_WRITE
    enum { PAGE = 4096 };
    const size_t first = from / PAGE * PAGE, end = (to + PAGE - 1) / PAGE * PAGE;
    (void)madvise((char *)pages + first, end - first, MADV_POPULATE_WRITE);
#else
    (void)pages;
    (void)from;
    (void)to;
#endif
}

void fm_pages_free(void *pages, size_t bytes)
{
    if (pages) munmap(pages, rounded(bytes));
}

void fm_pages_give_back(void *pages, size_t bytes, size_t from, size_t to)
{
    size_t end = to == bytes ? rounded(bytes) : to;
    if (end > from) munmap((char *)pages + from, end - from);
}
