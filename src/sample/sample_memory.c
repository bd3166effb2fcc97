/* SPDX-License-Identifier: Apache-2.0 */
/* sample_memory.c - see sample_memory.h. */
#define _GNU_SOURCE
#include "sample/sample_memory.h"

#include "base/error.h"
#include "process/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void begin(fm_sample_session *session)
{
    session->magic = FM_SAMPLE_MAGIC;
    session->version = FM_SAMPLE_VERSION;
    session->receiver_pid = (uint32_t)getpid();
    uint64_t filters = 0;
    if (fm_proc_status("/proc/self", "Seccomp_filters", 10, &filters)) session->filters = (uint32_t)filters;
}

fm_status fm_sample_memory_create(fm_sample_memory *memory, fm_error *error)
{
    const uint64_t bytes = fm_sample_file_bytes();
    memory->session = MAP_FAILED;
    memory->file = memfd_create("fathom-sample", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory->file >= 0 && ftruncate(memory->file, (off_t)bytes) == 0 &&
        /* A file that cannot shrink cannot make us fault. */
        fcntl(memory->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        memory->session = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file, 0);
    if (memory->session == MAP_FAILED) {
        const int cause = errno;
        fm_sample_memory_destroy(memory);
        if (cause != EFBIG) return fm_fail_io(error, NULL, "make memory to share with the program", cause);
        return fm_fail(error, FM_E_IO, NULL,
                       "cannot make memory to share with the program: it counts as a file, and files must "
                       "not be larger than 'ulimit -f' says; that must be %" PRIu64
                       " KiB or more, whatever is written",
                       bytes >> 10);
    }
    begin(memory->session);
    return FM_OK;
}

fm_status fm_sample_memory_adopt(fm_sample_memory *memory, int file, fm_error *error)
{
    const uint64_t bytes = fm_sample_file_bytes();
    struct stat about;
    memory->file = file;
    memory->session = MAP_FAILED;
    const int seals = fcntl(file, F_GET_SEALS);
    errno = EINVAL;
    if (seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(file, &about) == 0 && (uint64_t)about.st_size == bytes)
        memory->session = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory->session == MAP_FAILED) {
        const int why = errno;
        fm_sample_memory_destroy(memory);
        return fm_fail_io(error, NULL, "share memory with the program", why);
    }
    begin(memory->session);
    return FM_OK;
}

void fm_sample_memory_destroy(fm_sample_memory *memory)
{
    if (memory->session && memory->session != MAP_FAILED) munmap(memory->session, fm_sample_file_bytes());
    if (memory->session && memory->file >= 0) close(memory->file);
    memory->session = NULL;
}

void fm_sample_memory_path(const fm_sample_memory *memory, char *path, size_t size)
{
    snprintf(path, size, "/proc/%ld/fd/%d", (long)getpid(), memory->file);
}

bool fm_sample_lane_next(fm_sample_lane *lane, uint32_t *taken, fm_sample_record *record, bool *damaged)
{
    const uint32_t written = __atomic_load_n(&lane->written, __ATOMIC_ACQUIRE);
    *damaged = written - *taken > FM_SAMPLE_CELLS;
    if (*damaged) *taken = written;
    if (written == *taken) {
        __atomic_store_n(&lane->taken, *taken, __ATOMIC_RELEASE);
        return false;
    }
    memcpy(record, &lane->cells[*taken % FM_SAMPLE_CELLS], sizeof *record);
    *taken += 1;
    __atomic_store_n(&lane->taken, *taken, __ATOMIC_RELEASE);
    return true;
}

static bool is_of_lane(const fm_sample_memory *memory, uint32_t lane, uint32_t slab)
{
    return slab < FM_SAMPLE_SLABS_IN_ALL &&
           __atomic_load_n(&memory->session->slab_owner[slab], __ATOMIC_ACQUIRE) == lane + 1;
}

bool fm_sample_slab_copy(const fm_sample_memory *memory, uint32_t lane, uint32_t slab, size_t from, void *to,
                         size_t bytes)
{
    if (!is_of_lane(memory, lane, slab)) return false;
    const fm_sample_slab place = fm_sample_slab_at(slab);
    if (from > place.bytes || bytes > place.bytes - from) return false;
    if (bytes > 0) memcpy(to, (const char *)memory->session + place.offset + from, bytes);
    return true;
}

void fm_sample_slab_release(const fm_sample_memory *memory, uint32_t lane, uint32_t slab)
{
    if (is_of_lane(memory, lane, slab))
        __atomic_store_n(&memory->session->slab_owner[slab], 0, __ATOMIC_RELEASE);
}

void fm_sample_lane_release(const fm_sample_memory *memory, uint32_t lane)
{
    for (uint32_t slab = 0; slab < FM_SAMPLE_SLABS_IN_ALL; slab++) fm_sample_slab_release(memory, lane, slab);
    __atomic_store_n(&memory->session->lane_state[lane], FM_SAMPLE_FREE, __ATOMIC_RELEASE);
}
