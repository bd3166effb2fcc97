/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribbling.c - a hostile tracee: scribbling SEED. It plays a program built by fathom cc (or one under
 * Valgrind), tells some references as it should, and in between writes whatever it likes into the memory that
 * it shares with fathom: forged sizes, records of any kind, counters, sequence numbers, other channels. Then
 * it ends in one of many ways. The same seed does the same, as far as two processes that run side by side
 * can.
 */
#define _GNU_SOURCE
#include "unit/synthetic_producer.h"

#include <signal.h>
#include <sys/wait.h>

static uint64_t state;

static uint64_t dice(uint64_t sides)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return sides ? z % sides : z;
}

/* Small, around a power of two, or anything. */
static uint64_t number(void)
{
    switch (dice(4)) {
    case 0:
        return dice(20);
    case 1:
        return (UINT64_C(1) << dice(64)) - dice(3) + 1;
    case 2:
        return 0x400000 + dice(1 << 20);
    default:
        return dice(0);
    }
}

static void tell_accesses(producer *self)
{
    for (uint64_t i = 0, count = dice(3000); i < count; i++)
        producer_word(self, FM_ACCESS_WORD(0x10000 + 64 * dice(500), FM_ACCESS_LOAD_8, dice(4096)));
}

static void tell_range(producer *self)
{
    static const unsigned codes[] = {FM_ACCESS_LOAD_RANGE, FM_ACCESS_STORE_RANGE};
    for (uint64_t i = 0, count = 1 + dice(50); i < count; i++) {
        uint64_t words[] = {FM_ACCESS_WORD(number() >> 16, codes[dice(2)], 0) & ~(UINT64_C(1) << 63),
                            dice(2) ? dice(FM_RANGE_MOST) : number()};
        producer_put(self, words, 2);
    }
}

static void tell_record(producer *self)
{
    uint64_t words[24];
    unsigned count = (unsigned)dice(20), told = dice(8) ? count : (unsigned)dice(30000);
    words[0] = FM_RECORD(dice(24), number(), told);
    for (unsigned i = 1; i <= count; i++) words[i] = number();
    producer_put(self, words, count + 1);
}

static void tell_text(producer *self)
{
    static const char *const texts[] = {"",     "once",           "once", "/bin/sh", "/dev/zero", "/dev/tty",
                                        "fifo", "/proc/self/mem", "/",    "x\ny",    "[vdso]",    "/no/such"};
    static const unsigned kinds[] = {FM_RECORD_NOTE,         FM_RECORD_NOTE, FM_RECORD_MODULE,
                                     FM_RECORD_REGION_BEGIN, FM_RECORD_EXEC, FM_RECORD_PROCESS};
    uint64_t words[8] = {1 + dice(4) + (dice(4) << 32)};
    unsigned kind = kinds[dice(6)];
    for (int i = 1; i < 8; i++) words[i] = number();
    producer_text(self, kind, dice(3), words,
                  kind == FM_RECORD_MODULE    ? 8
                  : kind == FM_RECORD_PROCESS ? 4
                                              : 0,
                  texts[dice(12)]);
}

/* Somewhere in the memory that is shared. */
static void scribble(producer *self)
{
    for (uint64_t i = 0, count = 1 + dice(8); i < count; i++) {
        fm_channel *channel = &self->session->channels[dice(3)];
        uint64_t *word = (uint64_t *)(uintptr_t)self->session;
        switch (dice(7)) {
        case 0:
            word[dice(sizeof(fm_session) / 8)] = number();
            break;
        case 1:
            ((uint64_t *)(uintptr_t)channel)[dice(sizeof *channel / 8)] = number();
            break;
        case 2:
            ((uint64_t *)(uintptr_t)self->ring)[dice(FM_RING_BYTES / 8)] = number();
            break;
        case 3:
            channel->chunk_words[dice(FM_RING_CHUNKS)] = (uint32_t)number();
            break;
        case 4:
            channel->chunk_sequence[dice(FM_RING_CHUNKS)] = number();
            break;
        case 5:
            self->session->sequence += dice(1000);
            break;
        default:
            self->session->processes = (uint32_t)number();
        }
    }
}

static void play(producer *self, int depth);

static void another_channel(const producer *self)
{
    producer other;
    uint32_t serial = dice(3) ? self->channel->process : (uint32_t)number();
    producer_claim(&other, 1 + (unsigned)dice(3), serial, (uint32_t)(dice(4) ? 1 + dice(6) : number()));
    tell_accesses(&other);
    tell_record(&other);
    if (dice(2)) producer_close(&other);
}

static void another_process(int depth)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(4);
        producer mine;
        producer_claim(&mine, FM_PRODUCER_COMPILER, 0, 1);
        producer_begin(&mine, (uint32_t)dice(5), "/played/child");
        play(&mine, depth + 1);
        _exit((int)dice(256));
    }
    if (child > 0 && dice(2)) waitpid(child, NULL, 0);
}

static void play(producer *self, int depth)
{
    for (uint64_t i = 0, count = dice(60); i < count; i++) {
        uint64_t choice = dice(20);
        if (choice < 6)
            tell_accesses(self);
        else if (choice < 9)
            tell_range(self);
        else if (choice < 12)
            tell_record(self);
        else if (choice < 15)
            tell_text(self);
        else if (choice < 17)
            scribble(self);
        else if (choice == 17)
            producer_seal(self);
        else if (choice == 18)
            another_channel(self);
        else if (depth < 2 && dice(3) == 0)
            another_process(depth);
    }
}

int main(int argc, char **argv)
{
    static const int deaths[] = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT};
    if (argc != 2) return 2;
    state = strtoull(argv[1], NULL, 10) * 1000003;
    alarm(5); /* what it scribbled may have stopped it */
    producer self;
    producer_claim(&self, dice(4) ? FM_PRODUCER_COMPILER : FM_PRODUCER_VALGRIND, 0, 1);
    producer_begin(&self, 0, "/played/program");
    play(&self, 0);
    if (dice(2)) producer_word(&self, FM_RECORD(FM_RECORD_END, dice(256), 0));
    if (dice(2)) producer_close(&self);
    if (dice(4) == 0) raise(deaths[dice(4)]);
    _exit((int)dice(256));
}
