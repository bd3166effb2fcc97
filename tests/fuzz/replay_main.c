/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c - runs a fuzz target without libFuzzer: replay_main [FILE|DIRECTORY]…, or writes the seeds it
 * makes into a directory for libFuzzer to start from: replay_main --seeds DIRECTORY
 *
 * Every corpus file, every seed the target makes, and 150 changed copies of each (fixed random numbers:
 * the same ones in every run). A failure is a crash, as under libFuzzer; the input is left in a file whose
 * name is printed first. It is also a failure when nothing was tried: a path without a file, a target without
 * seeds, none of the inputs understood as they are, or no mutation that changed anything. Prints TAP.
 */

#include "fuzz/fuzz_target.h"
#include "random.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { ROOM = 1 << 20 };

static uint64_t mutations = 150; /* of each input; FATHOM_TEST_MUTATIONS */

static uint8_t current[ROOM + 1], changed[ROOM + 1];
static const uint8_t *running;
static size_t running_size;
static uint64_t inputs, mutants; /* run so far: all, and those that differ from what they were made from */

/* Leaves the input that crashed. Only calls that are safe in a signal handler. */
static void leave_input(int signal_number)
{
    static const char name[] = "crash-input";
    static const char text[] = "# the input that crashed is in ./crash-input\n";
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) {
        (void)!write(file, running, running_size);
        close(file);
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run_one(const uint8_t *data, size_t size)
{
    running = data;
    running_size = size;
    inputs++;
    LLVMFuzzerTestOneInput(data, size);
}

/* One to four changes: bits, bytes, interesting numbers, cuts, doubled and moved pieces. */
static size_t mutate(size_t size)
{
    static const uint8_t interesting[] = {0, 1, 0x7f, 0x80, 0xff, '\n', '"', ',', '0', '9', ' ', 'F'};
    memcpy(changed, current, size);
    for (uint64_t changes = 1 + random_next() % 4; changes > 0; changes--) {
        if (size == 0) return 0;
        size_t at = random_next() % size, length = 1 + random_next() % 16;
        if (length > size - at) length = size - at;
        switch (random_next() % 7) {
        case 0:
            changed[at] ^= (uint8_t)(1 << random_next() % 8);
            break;
        case 1:
            changed[at] = (uint8_t)random_next();
            break;
        case 2:
            memset(changed + at, interesting[random_next() % sizeof interesting], length);
            break;
        case 3:
            size = at;
            break;
        case 4: /* takes a piece out */
            memmove(changed + at, changed + at + length, size - at - length);
            size -= length;
            break;
        case 5: /* doubles a piece */
            if (size + length > ROOM) break;
            memmove(changed + at + length, changed + at, size - at);
            size += length;
            break;
        default: { /* copies a piece over another */
            size_t from = random_next() % (size - length + 1);
            memmove(changed + at, changed + from, length);
        }
        }
    }
    return size;
}

/* Whether the target understood the input as it is. */
static bool run_with_mutations(size_t size)
{
    uint64_t before = fuzz_understood;
    run_one(current, size);
    bool understood = fuzz_understood > before;
    for (uint64_t i = 0; i < mutations; i++) {
        size_t now = mutate(size);
        mutants += now != size || memcmp(changed, current, size) != 0;
        run_one(changed, now);
    }
    return understood;
}

static uint64_t understood_whole; /* corpus files and seeds */

static size_t run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("not ok - cannot open %s\n", path);
        exit(1);
    }
    size_t size = fread(current, 1, ROOM, file);
    fclose(file);
    understood_whole += run_with_mutations(size);
    return 1;
}

static size_t run_path(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) return 0;
    if (!S_ISDIR(about.st_mode)) return run_file(path);
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    size_t files = 0;
    for (int i = 0; i < count; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.') files += run_file(inside);
        free(names[i]);
    }
    if (count >= 0) free(names);
    return files;
}

static int write_seeds(const char *directory)
{
    size_t size;
    for (size_t number = 0; (size = fuzz_seed(number, current, ROOM)) > 0; number++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%zu", directory, number);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(current, 1, size, file) != size || fclose(file) != 0) {
            fprintf(stderr, "cannot write %s\n", path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("FATHOM_TEST_MUTATIONS");
    if (wanted && *wanted) mutations = strtoull(wanted, NULL, 10);
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    signal(SIGSEGV, leave_input);
    signal(SIGABRT, leave_input);
    signal(SIGFPE, leave_input);
    size_t files = 0, seeds = 0, size;
    bool empty_path = false;
    for (int i = 1; i < argc; i++) {
        size_t found = run_path(argv[i]);
        files += found;
        empty_path |= found == 0;
    }
    run_one(current, 0);
    while ((size = fuzz_seed(seeds, current, ROOM)) > 0) {
        seeds++;
        understood_whole += run_with_mutations(size);
    }
    bool tried = seeds > 0 && !empty_path && understood_whole > 0 && mutants > 0 &&
                 inputs == 1 + (files + seeds) * (1 + mutations);
    printf("1..1\n%s 1 - %zu corpus files and %zu made seeds (%" PRIu64
           " of them understood as they are), each with %" PRIu64 " mutations: %" PRIu64 " inputs\n",
           tried ? "ok" : "not ok", files, seeds, understood_whole, mutations, inputs);
    return tried ? 0 : 1;
}
