// SPDX-License-Identifier: Apache-2.0
// A program with an operator new of its own, which does not use malloc, throws now and then, and is left by
// longjmp. Two blocks from it, one from malloc, all used three times: 4096 blocks of 64 bytes each.
#include "touch.h"
#include <csetjmp>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
enum { MANY = 4096 };
static char *pool; // the system's own memory
static std::size_t used;
static std::jmp_buf away;
void *operator new(std::size_t bytes)
{
    if (bytes == 13) throw std::bad_alloc();
    if (bytes == 14) std::longjmp(away, 1);
    if (!pool)
        pool = static_cast<char *>(
            mmap(nullptr, 4 * MANY * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    void *result = pool + used;
    used += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    return result;
}
void operator delete(void *) noexcept
{
}
void operator delete(void *, std::size_t) noexcept
{
}
__attribute__((noinline)) static char *refused()
{
    try {
        return static_cast<char *>(::operator new(13));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
__attribute__((noinline)) static char *left()
{
    if (setjmp(away) == 0) return static_cast<char *>(::operator new(14));
    return nullptr;
}
__attribute__((noinline)) static char *make_own()
{
    for (int i = 0; i < 10; i++)
        if (refused() || left()) std::abort();
    char *made = static_cast<char *>(::operator new(MANY *BLOCK));
    __asm__ volatile("" : "+r"(made)); // not a tail call
    return made;
}
__attribute__((noinline)) static char *make_malloc()
{
    char *made = static_cast<char *>(std::aligned_alloc(BLOCK, MANY * BLOCK));
    __asm__ volatile("" : "+r"(made));
    return made;
}
int main()
{
    char *blocks[] = {make_own(), make_own(), make_malloc()};
    for (char *block : blocks) touch(block, MANY, 3);
    return 0;
}
