/* SPDX-License-Identifier: Apache-2.0 */
/* fake_pmu.c - see fake_pmu.h. */
#define _GNU_SOURCE
#include "fake_pmu.h"

#include "collect/sample/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, EVENTS = 4, REGISTERS = 4, TRAP_PERF_CODE = 6 };
enum { AT_ONCE = 8 }; /* signals: there is room for what is told of so many */

/* What an event counts. */
enum { LOADS = 1, STORES = 2, OPERATIONS = 4, LOAD_LATENCY = 8 };

typedef struct event {
    struct perf_event_mmap_page *page; /* NULL: not open */
    unsigned counts;
    uint64_t count, period, left, type, data;
    bool kernel;
} event;

static __thread struct {
    event events[EVENTS];
    struct {
        bool on;
        uint64_t from, bytes, data;
    } registers[REGISTERS];
    bool met;
    uint64_t accesses;
    uint32_t pid;
} self;

__attribute__((noreturn)) static void give_up(const char *why)
{
    fprintf(stderr, "fake_pmu: %s\n", why);
    abort();
}

/* ---- perf_event_open ---- */

static unsigned what(const struct perf_event_attr *wanted)
{
    const char *ibs = getenv("FAKE_PMU_IBS"); /* the number of ibs_op */
    if (ibs && wanted->type == (unsigned)atoi(ibs)) return LOADS | STORES | OPERATIONS;
    if (wanted->type == PERF_TYPE_HW_CACHE) return wanted->config & 0x100 ? STORES : LOADS;
    switch (wanted->config & 0xffff) {
    case 0x81d0:
        return LOADS;
    case 0x82d0:
        return STORES;
    case 0x0729:
        return LOADS | STORES;
    case 0x01cd:
        return LOAD_LATENCY;
    default:
        give_up("an event that it does not know");
    }
}

static bool real_registers(void)
{
    const char *registers = getenv("FAKE_PMU_REGISTERS");
    return registers && strcmp(registers, "real") == 0;
}

static long arm(const struct perf_event_attr *wanted)
{
    const uint64_t place = wanted->sig_data & 0xff;
    if (place >= REGISTERS || wanted->bp_addr % wanted->bp_len) return -EINVAL;
    self.registers[place].on = true;
    self.registers[place].from = wanted->bp_addr;
    self.registers[place].bytes = wanted->bp_len;
    self.registers[place].data = wanted->sig_data;
    if (real_registers())
        return fm_syscall(__NR_perf_event_open, (long)wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
    const long file = fm_syscall(__NR_memfd_create, (long)"breakpoint", 1, 0, 0, 0, 0);
    if (file >= 0) fm_syscall(__NR_ftruncate, file, PAGE, 0, 0, 0, 0);
    return file;
}

__attribute__((visibility("default"))) long fathom_sample_perf_event_open(struct perf_event_attr *wanted,
                                                                          int group)
{
    (void)group;
    const char *refused = getenv("FAKE_PMU_REFUSES");
    if (refused) return -atoi(refused);
    if (self.pid != fm_getpid()) memset(&self, 0, sizeof self); /* a child has none of its parent's */
    self.pid = fm_getpid();
    if (wanted->type == PERF_TYPE_BREAKPOINT) return arm(wanted);
    uint32_t number = 0;
    while (number < EVENTS && self.events[number].page) number++;
    if (number == EVENTS) return -EMFILE;
    if (wanted->sample_period && (!wanted->sigtrap || !wanted->wakeup_events || !wanted->remove_on_exec))
        return -EINVAL;
    const long file = fm_syscall(__NR_memfd_create, (long)"event", 1, 0, 0, 0, 0);
    if (file < 0) return file;
    fm_syscall(__NR_ftruncate, file, 2 * PAGE, 0, 0, 0, 0);
    event *made = &self.events[number];
    made->page = fm_map(2 * PAGE, (int)file, 0);
    made->counts = what(wanted);
    made->count = 0;
    made->period = made->left = wanted->freq ? 100 : wanted->sample_period;
    made->type = wanted->sample_type;
    made->data = wanted->sig_data;
    made->kernel = !wanted->exclude_kernel;
    made->page->cap_user_rdpmc = 1;
    made->page->pmc_width = 48;
    /* As if all was told and read so often that the next record goes round the end of the ring. */
    made->page->data_head = made->page->data_tail = 5 * PAGE - 24;
    self.met = true;
    return file;
}

/* ---- signals ---- */

/* Who opened the events has gone, and they with it: nothing is left that would take their signals. */
static bool is_over(void)
{
    uint64_t action[4] = {0};
    fm_syscall(__NR_rt_sigaction, SIGTRAP, 0, (long)action, 8, 0, 0);
    return action[0] == (uint64_t)(uintptr_t)SIG_DFL || action[0] == (uint64_t)(uintptr_t)SIG_IGN;
}

static void send_signal(uint64_t data)
{
    if (is_over()) {
        memset(&self, 0, sizeof self);
        self.met = true;
        return;
    }

    char information[128] = {0};
    const int number = SIGTRAP, code = TRAP_PERF_CODE;
    memcpy(information, &number, sizeof number);
    memcpy(information + 8, &code, sizeof code);
    memcpy(information + 24, &data, sizeof data);
    /* It comes before this returns. */
    if (fm_syscall(__NR_rt_tgsigqueueinfo, fm_getpid(), fm_gettid(), SIGTRAP, (long)information, 0, 0) != 0)
        give_up("no signal can be sent");
}

static void show_count(event *of, uint64_t more)
{
    of->count += more;
    of->page->lock++;
    of->page->offset = (int64_t)of->count;
    of->page->lock++;
}

/* ---- the ring ---- */

typedef struct told_access {
    uint64_t ip, address, latency, source;
    unsigned bytes; /* 0: it is none */
    bool store, user;
} told_access;

static void put(event *of, const uint64_t *words, unsigned count)
{
    uint64_t *ring = (uint64_t *)(void *)((char *)of->page + PAGE);
    uint64_t head = of->page->data_head;
    if (head + count * 8 - of->page->data_tail > PAGE) return; /* nobody reads it any more */
    for (unsigned i = 0; i < count; i++, head += 8) ring[head % PAGE / 8] = words[i];
    __atomic_store_n(&of->page->data_head, head, __ATOMIC_RELEASE);
}

static uint64_t header(uint64_t type, uint64_t misc, uint64_t words)
{
    return type | misc << 32 | words * 8 << 48;
}

static void put_sample(event *of, const told_access *is)
{
    uint64_t words[8];
    unsigned count = 1;
    if (of->type & PERF_SAMPLE_IP) words[count++] = is->ip;
    if (of->type & PERF_SAMPLE_ADDR) words[count++] = is->address;
    if (of->type & PERF_SAMPLE_PERIOD) words[count++] = of->period;
    if (of->type & PERF_SAMPLE_WEIGHT) words[count++] = is->latency;
    if (of->type & PERF_SAMPLE_DATA_SRC) words[count++] = is->source;
    words[0] = header(PERF_RECORD_SAMPLE, is->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL, count);
    put(of, words, count);
}

static event *sampling_event(void)
{
    for (unsigned i = 0; i < EVENTS; i++)
        if (self.events[i].page && self.events[i].period) return &self.events[i];
    give_up("no event takes samples");
}

void fake_lost(uint64_t count)
{
    put(sampling_event(), (uint64_t[]){header(PERF_RECORD_LOST, 0, 3), 1, count}, 3);
}

void fake_throttled(void)
{
    put(sampling_event(), (uint64_t[]){header(PERF_RECORD_THROTTLE, 0, 4), 1, 1, 1}, 4);
}

/* ---- whoever reads the samples ---- */

/* The session that the runtime has mapped (sample_protocol.h). NULL: there is none. */
static fm_sample_session *find_session(void)
{
    char maps[1 << 15];
    size_t used = 0;
    long got = 0;
    const int file = fm_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    while (used < sizeof maps - 1 && (got = fm_read(file, maps + used, sizeof maps - 1 - used)) > 0)
        used += (size_t)got;
    fm_close(file);
    maps[used] = '\0';
    const char *line = strstr(maps, "/memfd:fathom-sample");
    while (line && line > maps && line[-1] != '\n') line--;
    return line ? (fm_sample_session *)(uintptr_t)strtoull(line, NULL, 16) : NULL;
}

static fm_sample_session *the_session(void)
{
    static fm_sample_session *session;
    if (!__atomic_load_n(&session, __ATOMIC_RELAXED))
        __atomic_store_n(&session, find_session(), __ATOMIC_RELAXED);
    return session;
}

bool fake_is_over(void)
{
    const fm_sample_session *session = the_session();
    return !session || __atomic_load_n(&session->order, __ATOMIC_RELAXED) != FM_SAMPLE_GO;
}

/* Real signals do not come as fast as these: who reads what is told of them gets the time to do so, however
 * busy the machine is. A program that is attached to may lose the session at any time. */
static void wait_for_reader(void)
{
    enum { NAPS_MOST = 200000 };
    const struct timespec nap = {.tv_nsec = 50000}, pause = {.tv_nsec = 200000};
    if (getenv("FAKE_PMU_ATTACHED")) {
        nanosleep(&pause, NULL);
        return;
    }
    fm_sample_session *session = the_session();
    if (!session) return;
    /* The first look may have begun before the last record was there. */
    const uint64_t until = __atomic_load_n(&session->heartbeat, __ATOMIC_RELAXED) + 2;
    for (int naps = 0; naps < NAPS_MOST && !fake_is_over() &&
                       __atomic_load_n(&session->heartbeat, __ATOMIC_RELAXED) < until;
         naps++) {
        __atomic_fetch_add(&session->wake, 1, __ATOMIC_SEQ_CST);
        fm_futex_wake(&session->wake);
        nanosleep(&nap, NULL);
    }
}

/* ---- accesses ---- */

/* What a handler did is counted; one is called where the processor does not do so. */
static void handle(uint64_t data)
{
    static __thread unsigned signals;
    if (!data || !real_registers() || data - FM_SAMPLE_TRAP_WATCH >= REGISTERS) send_signal(data);
    for (unsigned i = 0; i < EVENTS; i++)
        if (self.events[i].page && self.events[i].counts & LOADS && !(self.events[i].counts & OPERATIONS)) {
            show_count(&self.events[i], FM_SAMPLER_HANDLER_ACCESSES);
            break;
        }
    if (++signals % AT_ONCE == 0) wait_for_reader();
}

static void meet(void)
{
    /* What is attached to later is met by a real clock. */
    if (!self.met && !getenv("FAKE_PMU_ATTACHED")) handle(FM_SAMPLE_TRAP_CLOCK);
    self.met = true;
}

static void really_access(uint64_t address, unsigned bytes, bool store)
{
    if (bytes == 4 && store)
        *(volatile uint32_t *)address = 1;
    else if (bytes == 4)
        (void)*(volatile uint32_t *)address;
    else if (store)
        *(volatile uint64_t *)address = 1;
    else
        (void)*(volatile uint64_t *)address;
}

/* Registers trap behind the access, which was counted then. */
static void trap(uint64_t address, unsigned bytes, bool store)
{
    if (real_registers()) really_access(address, bytes, store);
    for (unsigned i = 0; i < REGISTERS; i++) {
        if (!self.registers[i].on || address + bytes <= self.registers[i].from ||
            address >= self.registers[i].from + self.registers[i].bytes)
            continue;
        self.registers[i].on = false;
        handle(self.registers[i].data);
    }
}

/* AMD's processors do not sample at even distances. */
static uint64_t jitter(void)
{
    static __thread uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1;
    return state >> 60;
}

/* Counted, then trapped, then sampled: what a sample arms does not trap on the same access. */
static void count(unsigned kind, const told_access *is)
{
    bool due[EVENTS] = {false};
    meet();
    for (unsigned i = 0; i < EVENTS; i++) {
        event *of = &self.events[i];
        if (!of->page || !(of->counts & kind) || (!is->user && !of->kernel)) continue;
        show_count(of, 1);
        due[i] = of->period && --of->left == 0;
        if (due[i]) of->left = of->period + (of->counts & OPERATIONS ? jitter() : 0);
    }
    if (is->user && is->bytes) trap(is->address, is->bytes, is->store);
    for (unsigned i = 0; i < EVENTS; i++) {
        if (!due[i]) continue;
        put_sample(&self.events[i], is);
        handle(self.events[i].data);
    }
}

__attribute__((noinline)) void fake_access(volatile void *address, unsigned bytes, bool store,
                                           uint64_t latency, uint64_t source)
{
    const told_access is = {.ip = (uint64_t)(uintptr_t)__builtin_return_address(0) - 1,
                            .address = (uint64_t)(uintptr_t)address,
                            .latency = latency,
                            .source = source,
                            .bytes = bytes,
                            .store = store,
                            .user = true};
    meet(); /* before it counts */
    self.accesses++;
    count(store ? STORES : LOADS | LOAD_LATENCY, &is);
}

void fake_operation(void)
{
    count(OPERATIONS, &(told_access){.user = true});
}

void fake_kernel_access(const volatile void *address)
{
    count(LOADS, &(told_access){.ip = UINT64_C(0xffffffff81000000),
                                .address = (uint64_t)(uintptr_t)address,
                                .latency = 7,
                                .bytes = 8});
}

uint64_t fake_accesses(void)
{
    return self.accesses;
}
