/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator for tests, to be preloaded: it knows its own blocks, and aborts where one is given back to it
 * that it never gave. Blocks are used again only after many others, and are never unmapped.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAGIC = 0x0b10c, POOL = 1 << 20, CLASSES = 64, SMALLEST = 64 };
struct head {
    uint64_t magic, bytes, class;
    struct head *next;
};
static struct head *unused[CLASSES];
static char *pool;
static size_t pool_left;
static int lock;

static void enter(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}

static void leave(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static struct head *fresh(size_t room)
{
    if (room > POOL / 4) {
        void *mapped = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mapped == MAP_FAILED ? NULL : mapped;
    }
    if (room > pool_left) {
        void *mapped = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return NULL;
        pool = mapped;
        pool_left = POOL;
    }
    struct head *made = (struct head *)(void *)pool;
    pool += room;
    pool_left -= room;
    return made;
}

/* The base is at the beginning of the room, the head right before the block, which is aligned. */
void *memalign(size_t align, size_t bytes)
{
    unsigned class = 0;
    size_t room = SMALLEST;
    if (align < sizeof(struct head)) align = sizeof(struct head);
    while (room < bytes + 2 * sizeof(struct head) + align) {
        room *= 2;
        class ++;
    }
    enter();
    struct head *base = unused[class];
    if (base)
        unused[class] = base->next;
    else
        base = fresh(room);
    leave();
    if (!base) return NULL;
    char *block = (char *)(((uintptr_t)base + 2 * sizeof *base + align - 1) / align * align);
    *(struct head *)(void *)(block - sizeof *base) = (struct head){MAGIC, bytes, class, base};
    return block;
}

static struct head *head_of(void *block)
{
    struct head *head = (struct head *)(void *)((char *)block - sizeof *head);
    if (head->magic != MAGIC) abort();
    return head;
}

void free(void *block)
{
    if (!block) return;
    struct head *head = head_of(block), *base = head->next;
    const uint64_t class = head->class;
    head->magic = 0;
    enter();
    base->next = unused[class];
    unused[class] = base;
    leave();
}

void *malloc(size_t bytes)
{
    return memalign(32, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return memalign(align, bytes);
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
    *block = memalign(align, bytes);
    return *block ? 0 : ENOMEM;
}

void *calloc(size_t count, size_t each)
{
    void *block = malloc(count * each);
    if (block) memset(block, 0, count * each);
    return block;
}

void *realloc(void *block, size_t bytes)
{
    if (!block) return malloc(bytes);
    const size_t had = head_of(block)->bytes;
    void *moved = malloc(bytes);
    if (!moved) return NULL;
    memcpy(moved, block, had < bytes ? had : bytes);
    free(block);
    return moved;
}
