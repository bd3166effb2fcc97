/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - see memory.h. */
#define _GNU_SOURCE
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ======== free memory ======== */

/* What the machine has, without any limits. */
typedef struct machine_memory {
    bool known;
    uint64_t available, swap_free;
} machine_memory;

static FILE *open_under(const char *root, const char *path)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name) return NULL;
    return fopen(name, "re");
}

static machine_memory memory_of_machine(const char *root)
{
    machine_memory machine = {0};
    char line[256];
    FILE *file = open_under(root, "/proc/meminfo");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t kibibytes;
        if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1) {
            machine.available = kibibytes * 1024;
            machine.known = true;
        } else if (sscanf(line, "SwapFree: %" SCNu64, &kibibytes) == 1)
            machine.swap_free = kibibytes * 1024;
    }
    if (file) fclose(file);
    return machine;
}

static uint64_t least_room(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t fm_free_memory(void)
{
    const machine_memory machine = memory_of_machine("");
    if (!machine.known) return 0;
    uint64_t available = least_room(machine.available, fm_control_group_memory("", machine.swap_free).easily),
             pages;
    struct rlimit limit;
    FILE *file = open_under("", "/proc/self/statm");
    if (file && fscanf(file, "%" SCNu64, &pages) == 1 && getrlimit(RLIMIT_AS, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        available = least_room(available, limit.rlim_cur > pages * 4096 ? limit.rlim_cur - pages * 4096 : 0);
    if (file) fclose(file);
    return available;
}

bool fm_memory_is_there_under(const char *root, uint64_t bytes)
{
    /* For tables of pages, for small things that nobody asks about, and for what others take meanwhile. */
    enum { RESERVE = 8 << 20, PAGE_TABLES = 64 };
    const machine_memory machine = memory_of_machine(root);
    if (!machine.known) return true;
    const uint64_t there = least_room(machine.available + machine.swap_free,
                                      fm_control_group_memory(root, machine.swap_free).at_the_most);
    const uint64_t reserve = RESERVE + bytes / PAGE_TABLES;
    return there >= reserve && there - reserve >= bytes;
}

bool fm_memory_is_there(uint64_t bytes)
{
    return fm_memory_is_there_under("", bytes);
}

/* ======== memory from malloc and from the kernel ======== */

enum { HUGE_PAGE = 2 << 20 };
enum { LARGE = 1 << 20 };   /* from here on memory is asked for only where it is there */
enum { SCARCE_SHARE = 64 }; /* less than so many times as much is there: then it is taken at once */

/* The kernel would grant it, and kill the process that writes to it. */
static bool is_there(size_t bytes)
{
    return bytes < LARGE || fm_memory_is_there(bytes);
}

void *fm_calloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    if (!is_there(count * size)) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *fm_malloc_array(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    if (!is_there(count * size)) return NULL;
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
    if (!is_there((wanted - *capacity) * element_size)) return -1;
    void *grown = realloc(*array, wanted * element_size);
    if (!grown) return -1;
    *array = grown;
    *capacity = wanted;
    return 0;
}

static size_t rounded_bytes(size_t bytes)
{
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
    return bytes > SIZE_MAX - unit ? SIZE_MAX - SIZE_MAX % unit : (bytes + unit - 1) / unit * unit;
}

/* Huge pages only pay, and only keep the memory promise, where the table fills them. */
static void prefer_huge(void *pages, size_t bytes)
{
    if (bytes >= HUGE_PAGE) (void)madvise(pages, bytes, MADV_HUGEPAGE);
}

/* Bytes that threads of this process are about to take, and have not yet written to: memory is the process's,
 * not a handle's. Two threads that each ask for the last bytes would both be told that they are there. */
static size_t being_taken;

/* Whether so many more bytes can be taken. If so they are announced to other threads, until end_taking. */
static bool begin_taking(size_t bytes)
{
    if (bytes < LARGE) return true;
    if (fm_memory_is_there(__atomic_add_fetch(&being_taken, bytes, __ATOMIC_SEQ_CST))) return true;
    __atomic_sub_fetch(&being_taken, bytes, __ATOMIC_SEQ_CST);
    return false;
}

/* Where memory is scarce each of the new pages is written to: whoever asks next sees that it is gone. pages:
 * NULL, where the kernel did not grant any. */
static void end_taking(char *pages, size_t from, size_t to)
{
    const size_t bytes = to - from;
    if (bytes < LARGE) return;
    if (pages && !fm_memory_is_there((uint64_t)SCARCE_SHARE * bytes))
        for (size_t at = from; at < to; at += 4096) *(volatile char *)(pages + at) = 0;
    __atomic_sub_fetch(&being_taken, bytes, __ATOMIC_SEQ_CST);
}

void *fm_pages_allocate(size_t bytes)
{
    size_t size = rounded_bytes(bytes);
    if (!begin_taking(size)) return NULL;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) pages = NULL;
    if (pages) prefer_huge(pages, size);
    end_taking(pages, 0, size);
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
    size_t size = rounded_bytes(new_bytes), old_size = rounded_bytes(old_bytes);
    if (size <= old_size) {
        if (size < old_size) munmap((char *)pages + size, old_size - size);
        return pages;
    }
    if (old_bytes < HUGE_PAGE && size >= HUGE_PAGE) return to_huge_pages(pages, old_bytes, new_bytes);
    if (!begin_taking(size - old_size)) return NULL;
    void *moved = move_pages(pages, old_size, size);
    if (moved == MAP_FAILED) moved = NULL;
    if (moved) prefer_huge(moved, size);
    end_taking(moved, old_size, size);
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
    if (pages) munmap(pages, rounded_bytes(bytes));
}

void fm_pages_give_back(void *pages, size_t bytes, size_t from, size_t to)
{
    size_t end = to == bytes ? rounded_bytes(bytes) : to;
    if (end > from) munmap((char *)pages + from, end - from);
}
