/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_memory.c - looks at the program's code, which may have been unmapped: a fault while it does is an
 * answer, not the program's fault (burst_fault goes on at the end of these functions).
 */
#include "burst_state.h"

#include <fcntl.h>
#include <sys/syscall.h>

extern const char burst_memory_first[], burst_memory_last[], burst_memory_absent[];

__asm__(".pushsection .text\n"
        ".type burst_copy, @function\n"
        ".globl burst_copy\n"
        ".hidden burst_copy\n"
        "burst_copy:\n" /* rdi, rsi, rdx */
        ".globl burst_memory_first\n"
        ".hidden burst_memory_first\n"
        "burst_memory_first:\n"
        "  xor %ecx, %ecx\n"
        "  sub $8, %rdx\n"
        "  jb 2f\n"
        "1: mov (%rsi, %rcx), %rax\n"
        "  mov %rax, (%rdi, %rcx)\n"
        "  add $8, %rcx\n"
        "  sub $8, %rdx\n"
        "  jae 1b\n"
        "2: add $8, %rdx\n"
        "  jz 4f\n"
        "3: movzbl (%rsi, %rcx), %eax\n"
        "  mov %al, (%rdi, %rcx)\n"
        "  inc %rcx\n"
        "  dec %rdx\n"
        "  jnz 3b\n"
        "4: xor %eax, %eax\n"
        "  ret\n"
        ".size burst_copy, . - burst_copy\n"
        ".type burst_compare_lines, @function\n"
        ".globl burst_compare_lines\n"
        ".hidden burst_compare_lines\n"
        "burst_compare_lines:\n" /* rdi, rsi; struct burst_line */
        "  test %rsi, %rsi\n"
        "  jz 2f\n"
        "1: mov (%rdi), %rax\n"
        "  mov 16 * 80(%rdi), %rcx\n" /* a later one: behind the last there is other memory of the state */
        "  prefetcht0 (%rcx)\n"
        "  movdqa 16(%rdi), %xmm0\n"
        "  movdqa 32(%rdi), %xmm1\n"
        "  movdqa 48(%rdi), %xmm2\n"
        "  movdqa 64(%rdi), %xmm3\n"
        "  pcmpeqb (%rax), %xmm0\n"
        "  pcmpeqb 16(%rax), %xmm1\n"
        "  pcmpeqb 32(%rax), %xmm2\n"
        "  pcmpeqb 48(%rax), %xmm3\n"
        "  pand %xmm1, %xmm0\n"
        "  pand %xmm3, %xmm2\n"
        "  pand %xmm2, %xmm0\n"
        "  pmovmskb %xmm0, %ecx\n"
        "  cmp $0xffff, %ecx\n"
        "  jne burst_memory_absent\n"
        "  add $80, %rdi\n"
        "  dec %rsi\n"
        "  jnz 1b\n"
        "2: xor %eax, %eax\n"
        "  ret\n"
        ".size burst_compare_lines, . - burst_compare_lines\n"
        ".type burst_compare, @function\n"
        ".globl burst_compare\n"
        ".hidden burst_compare\n"
        "burst_compare:\n"
        "  xor %ecx, %ecx\n"
        "  sub $8, %rdx\n"
        "  jb 2f\n"
        "1: mov (%rsi, %rcx), %rax\n"
        "  cmp (%rdi, %rcx), %rax\n"
        "  jne 4f\n"
        "  add $8, %rcx\n"
        "  sub $8, %rdx\n"
        "  jae 1b\n"
        "2: add $8, %rdx\n"
        "  jz 5f\n"
        "3: movzbl (%rsi, %rcx), %eax\n"
        "  cmp (%rdi, %rcx), %al\n"
        "  jne 4f\n"
        "  inc %rcx\n"
        "  dec %rdx\n"
        "  jnz 3b\n"
        "5: xor %eax, %eax\n"
        "  ret\n"
        ".globl burst_memory_last\n"
        ".hidden burst_memory_last\n"
        "burst_memory_last:\n"
        ".globl burst_memory_absent\n"
        ".hidden burst_memory_absent\n"
        "burst_memory_absent:\n"
        "4: mov $1, %eax\n"
        "  ret\n"
        ".size burst_compare, . - burst_compare\n"
        ".popsection\n");

uint64_t burst_memory_fault(uint64_t place)
{
    bool inside = place >= (uint64_t)burst_memory_first && place < (uint64_t)burst_memory_last;
    return inside ? (uint64_t)burst_memory_absent : 0;
}

/*
 * ==== lines of code ====
 *
 * The program's code that was translated, in pieces of 64 bytes: a copy of each, from which
 * blocks are made, and which is compared with the program's when a burst begins. Neighbouring blocks, and the
 * two modes, share them; and comparing them one after the other takes a few nanoseconds each.
 *
 * Only code of files that cannot be written to is kept so (BURST_TRUST_FILE).
 */

static uint32_t *head_of(burst *state, uint64_t address)
{
    const uint64_t mixed = address / BURST_LINE * UINT64_C(0x9E3779B97F4A7C15);
    return &state->line_heads[mixed >> 32 & state->line_heads_mask];
}

const unsigned char *burst_line_get(burst *state, uint64_t address, bool *full)
{
    address -= address % BURST_LINE;
    uint32_t *head = head_of(state, address);
    for (uint32_t number = *head; number; number = state->lines[number - 1].next)
        if (state->lines[number - 1].address == address) return state->lines[number - 1].bytes;
    *full = state->lines_used == state->lines_most;
    if (*full) return NULL;
    burst_line *line = &state->lines[state->lines_used];
    if (burst_copy(line->bytes, (const void *)address, BURST_LINE)) return NULL;
    line->address = address;
    line->next = *head;
    *head = ++state->lines_used;
    return line->bytes;
}

void burst_lines_forget(burst *state)
{
    for (uint32_t i = 0; i <= state->line_heads_mask; i++) state->line_heads[i] = 0;
    state->lines_used = 0;
}

bool burst_lines_touch(const burst *state, uint64_t first, uint64_t last)
{
    for (uint32_t i = 0; i < state->lines_used; i++)
        if (state->lines[i].address <= last && state->lines[i].address + BURST_LINE > first) return true;
    return false;
}

/*
 * ==== mappings ====
 *
 * Where code lies, and how far it can be trusted not to change. Mappings are read from
 * /proc/self/maps when code is met that is in none of those known. Where that cannot be opened (any more: a
 * program may change its root directory, or have no descriptor left), what was read last in the process
 * counts.
 */

enum { AT_ONCE = 2048, LINE_MOST = 512 };

/* A line of the file, as far as it was read. */
typedef struct line_reader {
    burst *state;
    uint64_t wanted;
    bool found;
    uint32_t length;
    char line[LINE_MOST];
} line_reader;

static uint64_t read_hexadecimal(const char **text)
{
    uint64_t value = 0;
    for (;; ++*text) {
        char c = **text;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else
            return value;
        value = value << 4 | digit;
    }
}

static void skip_field(const char **text)
{
    while (**text && **text != ' ') ++*text;
    while (**text == ' ') ++*text;
}

static bool begins_with(const char *text, const char *beginning)
{
    while (*beginning)
        if (*text++ != *beginning++) return false;
    return true;
}

static void map_keep(burst *state, const burst_range *range, bool wanted)
{
    uint32_t place = state->ranges_used;
    if (place == BURST_RANGES) {
        if (!wanted) return; /* the wanted one is always kept */
        place--;
    } else {
        state->ranges_used++;
    }
    state->ranges[place] = *range;
}

/* first-behind rwxp offset device inode path */
static void take_line(line_reader *reader)
{
    reader->line[reader->length] = 0;
    reader->length = 0;
    const char *text = reader->line;
    burst_range range;
    range.first = read_hexadecimal(&text);
    if (*text != '-') return;
    text++;
    range.behind = read_hexadecimal(&text);
    if (*text != ' ') return;
    text++;
    const char *rights = text;
    for (uint32_t i = 0; i < 4; i++)
        if (!rights[i]) return;
    if (rights[0] != 'r' || rights[2] != 'x') return;
    for (uint32_t i = 0; i < 3; i++) skip_field(&text);
    bool file = *text != '0';
    skip_field(&text);
    if (begins_with(text, "[vdso]")) file = true;
    if (begins_with(text, "[vsyscall]")) return;
    range.trust = rights[1] == 'w'                                            ? BURST_TRUST_WRITABLE
                  : !file || rights[3] != 'p' || begins_with(text, "/memfd:") ? BURST_TRUST_NONE
                                                                              : BURST_TRUST_FILE;
    bool wanted = reader->wanted >= range.first && reader->wanted < range.behind;
    if (wanted) reader->found = true;
    map_keep(reader->state, &range, wanted);
}

/* What was read last, by any thread. Nobody waits for it: who comes while it is written does without. */
static struct {
    uint32_t version; /* odd: somebody writes */
    uint32_t used;
    burst_range ranges[BURST_RANGES];
} last;

static void maps_remember(const burst *state)
{
    uint32_t version = __atomic_load_n(&last.version, __ATOMIC_RELAXED);
    if (version % 2 || !__atomic_compare_exchange_n(&last.version, &version, version + 1, false,
                                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&last.used, state->ranges_used, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < state->ranges_used; i++) {
        __atomic_store_n(&last.ranges[i].first, state->ranges[i].first, __ATOMIC_RELAXED);
        __atomic_store_n(&last.ranges[i].behind, state->ranges[i].behind, __ATOMIC_RELAXED);
        __atomic_store_n(&last.ranges[i].trust, state->ranges[i].trust, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&last.version, version + 2, __ATOMIC_RELEASE);
}

static void maps_recall(burst *state)
{
    const uint32_t version = __atomic_load_n(&last.version, __ATOMIC_ACQUIRE);
    const uint32_t used = __atomic_load_n(&last.used, __ATOMIC_RELAXED);
    state->ranges_used = 0;
    if (version % 2 || used > BURST_RANGES) return;
    for (uint32_t i = 0; i < used; i++) {
        state->ranges[i].first = __atomic_load_n(&last.ranges[i].first, __ATOMIC_RELAXED);
        state->ranges[i].behind = __atomic_load_n(&last.ranges[i].behind, __ATOMIC_RELAXED);
        state->ranges[i].trust = __atomic_load_n(&last.ranges[i].trust, __ATOMIC_RELAXED);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&last.version, __ATOMIC_RELAXED) == version) state->ranges_used = used;
}

static void read_maps(burst *state, uint64_t address)
{
    int64_t file = burst_kernel(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t) "/proc/self/maps",
                                O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file < 0) {
        maps_recall(state);
        return;
    }
    line_reader reader;
    reader.state = state;
    reader.wanted = address;
    reader.found = false;
    reader.length = 0;
    state->ranges_used = 0;
    for (;;) {
        char text[AT_ONCE];
        int64_t got = burst_kernel(SYS_read, (uint64_t)file, (uint64_t)text, sizeof text, 0, 0, 0);
        if (got <= 0) break;
        for (int64_t i = 0; i < got; i++) {
            if (text[i] == '\n')
                take_line(&reader);
            else if (reader.length + 1 < LINE_MOST)
                reader.line[reader.length++] = text[i];
        }
    }
    burst_kernel(SYS_close, (uint64_t)file, 0, 0, 0, 0, 0);
    maps_remember(state);
}

void burst_learn_maps(burst *state)
{
    read_maps(state, 0);
}

static const burst_range *known_range(burst *state, uint64_t address)
{
    for (uint32_t i = 0; i < state->ranges_used; i++) {
        burst_range *range = &state->ranges[i];
        if (address < range->first || address >= range->behind) continue;
        if (i) { /* the next look will be here too */
            burst_range other = state->ranges[0];
            state->ranges[0] = *range;
            *range = other;
        }
        return &state->ranges[0];
    }
    return NULL;
}

bool burst_find_range(burst *state, uint64_t address, burst_range *range)
{
    const burst_range *known = known_range(state, address);
    if (!known) {
        read_maps(state, address);
        known = known_range(state, address);
    }
    if (known) *range = *known;
    return known != NULL;
}
