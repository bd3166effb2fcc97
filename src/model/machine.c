/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - the caches of this machine, as the kernel tells them, or as hwloc sees them where it does not.
 *
 * hwloc's own environment variables are honoured (HWLOC_XMLFILE, HWLOC_SYNTHETIC), so that another
 * machine can be asked about, and tests know what to expect. Of several caches of one level, the first one in
 * hwloc's order stands for all: on hybrid processors that is one kind of core.
 */
#define _GNU_SOURCE
#include <fathom/machine.h>
#include <fathom/model.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "model/model_internal.h"

#include <errno.h>
#include <hwloc.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ======== machine sysfs ======== */

enum { MOST_INDICES = 16, WORD = 256 };

/* The first line of index<index>/<name>. */
static bool read_word(const char *root, unsigned processor, unsigned index, const char *name, char *word)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%u/%s", root, processor,
                 index, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(word, WORD, file);
    if (file) fclose(file);
    if (read) word[strcspn(word, "\n")] = '\0';
    return read;
}

static uint64_t read_number(const char *root, unsigned processor, unsigned index, const char *name)
{
    char word[WORD], unit = '\0';
    uint64_t number;
    if (!read_word(root, processor, index, name, word)) return 0;
    const int found = sscanf(word, "%" SCNu64 "%c", &number, &unit);
    const unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
    return found < 1 || number > UINT64_MAX >> shift ? 0 : number << shift;
}

/* "0-3,8-11": 8. */
static unsigned count_list(const char *list)
{
    unsigned count = 0;
    for (const char *at = list; *at;) {
        char *end;
        const unsigned long first = strtoul(at, &end, 10);
        if (end == at) return 0;
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (last < first || last - first > UINT_MAX / 2 - count) return 0;
        count += (unsigned)(last - first + 1);
        at = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') return 0;
    }
    return count;
}

static bool describe_index(const char *root, unsigned processor, unsigned index, fm_cache *cache)
{
    char type[WORD], sharing[WORD];
    if (!read_word(root, processor, index, "type", type)) return false;
    memset(cache, 0, sizeof *cache);
    if (strcmp(type, "Instruction") == 0) return true; /* bytes stay 0 */
    snprintf(cache->name, sizeof cache->name, "L%" PRIu64 "%s",
             read_number(root, processor, index, "level") % 100, strcmp(type, "Data") == 0 ? "d" : "");
    cache->bytes = read_number(root, processor, index, "size");
    cache->line = read_number(root, processor, index, "coherency_line_size");
    cache->ways = read_number(root, processor, index, "ways_of_associativity");
    if (read_word(root, processor, index, "shared_cpu_list", sharing)) cache->shared_by = count_list(sharing);
    return true;
}

size_t fm_sysfs_caches(const char *root, unsigned processor, fm_cache *caches, size_t capacity)
{
    size_t count = 0;
    for (unsigned index = 0; index < MOST_INDICES && count < capacity; index++) {
        if (!describe_index(root, processor, index, &caches[count])) break;
        if (caches[count].bytes == 0) continue;
        /* The kernel's order is that of the levels; where it is not, hwloc may sort it out. */
        if (count > 0 && strcmp(caches[count].name, caches[count - 1].name) <= 0) return 0;
        count++;
    }
    return count;
}

bool fm_cpuinfo_name(const char *root, char *name, size_t size)
{
    char path[PATH_MAX], line[512];
    if (snprintf(path, sizeof path, "%s/proc/cpuinfo", root) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "re");
    bool found = false;
    while (!found && file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        found = name[0] != '\0';
    }
    if (file) fclose(file);
    return found;
}

/* Whether hwloc was told to look at another machine than this one. */
static bool hwloc_is_told(void)
{
    static const char *const variables[] = {"HWLOC_XMLFILE",    "HWLOC_SYNTHETIC",
                                            "HWLOC_FSROOT",     "HWLOC_CPUID_PATH",
                                            "HWLOC_COMPONENTS", "HWLOC_DUMPED_HWDATA_DIR"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i])) return true;
    return false;
}

/* The first processor that this process may run on: on hybrid ones, it stands for all. */
static unsigned first_processor(void)
{
    cpu_set_t set;
    unsigned first = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0) return 0;
    while (!CPU_ISSET(first, &set)) first++;
    return first;
}

/* ======== machine ======== */

static void cache_describe(fm_cache *cache, hwloc_obj_t object)
{
    const struct hwloc_cache_attr_s *attributes = &object->attr->cache;
    memset(cache, 0, sizeof *cache);
    snprintf(cache->name, sizeof cache->name, "L%u%s", attributes->depth,
             attributes->type == HWLOC_OBJ_CACHE_DATA ? "d" : "");
    cache->bytes = attributes->size;
    cache->line = attributes->linesize;
    /* hwloc: 0 is unknown, -1 fully associative. */
    cache->ways = attributes->associativity > 0 ? (uint64_t)attributes->associativity : 0;
    int sharing = object->cpuset ? hwloc_bitmap_weight(object->cpuset) : 0;
    cache->shared_by = sharing > 0 ? (unsigned)sharing : 0;
}

fm_status fm_machine_caches(fm_cache *caches, size_t capacity, size_t *count, fm_error *error)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                              HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};
    *count = hwloc_is_told() ? 0 : fm_sysfs_caches("", first_processor(), caches, capacity);
    if (*count > 0) return FM_OK;
    hwloc_topology_t topology;
    errno = 0;
    if (hwloc_topology_init(&topology) != 0)
        return fm_fail(error, errno == ENOMEM ? FM_E_NOMEM : FM_E_IO, NULL,
                       "hwloc cannot start to read this machine's caches: %s", strerror(errno ? errno : EIO));
    if (hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_load(topology) != 0) {
        int failure = errno ? errno : EIO;
        hwloc_topology_destroy(topology);
        return fm_fail(
            error, failure == ENOMEM ? FM_E_NOMEM : FM_E_IO, NULL,
            "hwloc cannot read this machine's caches (or those that HWLOC_XMLFILE or HWLOC_SYNTHETIC "
            "describe): %s",
            strerror(failure));
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels && *count < capacity; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, levels[i], 0);
        if (object && object->attr && object->attr->cache.size) cache_describe(&caches[(*count)++], object);
    }
    hwloc_topology_destroy(topology);
    return FM_OK;
}

/*
 * ======== machine file ========
 * Descriptions of machines: read and written (docs/STATIC.md).
 *
 *     fathom-machine 1
 *     name "an example"
 *     flops 32G                      # per second; K, M, G, T are powers of 1000
 *     cache L1d size 32K ways 8 line 64 bandwidth 256G
 *     cache L2 bandwidth 64G         # size, ways and line: this machine's, by hwloc
 *     memory bandwidth 20G
 *
 * One statement a line, so that a message can say where.
 */

typedef struct reader {
    fm_machine *machine;
    const char *path;
    uint64_t line;
    fm_error *error;
    unsigned seen; /* rates, one bit each */
    bool caches_known;
    fm_cache caches[FM_MOST_LEVELS]; /* of this machine */
    size_t cache_count;
} reader;

enum { FLOPS, INTEGERS, LOADS, STORES, ACCESSES, MEMORY, NAME, RATES = NAME };
static const char *const rate_names[RATES] = {"flops", "integers", "loads", "stores", "accesses", "memory"};

static double *rate_at(fm_machine *machine, int rate)
{
    double *const at[RATES] = {&machine->flops,  &machine->integer_operations, &machine->loads,
                               &machine->stores, &machine->accesses,           &machine->memory};
    return at[rate];
}

#define FAIL(self, ...)                                                                                      \
    fm_fail_at((self)->error, FM_E_FORMAT, (self)->path, FM_PLACE_LINE, (self)->line, __VA_ARGS__)

/* The next word of a line, cut out of it; a text in quotes without them. NULL: none; *broken: no end quote.
 */
static char *next_word(char **rest, bool *broken)
{
    char *at = *rest + strspn(*rest, " \t\r");
    if (*at == '\0' || *at == '#') return NULL;
    char *begin = at;
    if (*at == '"') {
        begin = ++at;
        at += strcspn(at, "\"");
        *broken |= *at == '\0';
    } else {
        at += strcspn(at, " \t\r#");
    }
    const bool comment = *at == '#';
    if (*at) *at++ = '\0';
    *rest = comment ? at + strlen(at) : at;
    return begin;
}

/* "32G", "76.8G", "2e9": per second, powers of 1000. */
static fm_status read_rate(reader *self, const char *what, const char *word, double *rate)
{
    static const char letters[] = "KMGTP";
    if (!word) return FAIL(self, "expected a rate behind '%s', such as 32G", what);
    char *end;
    double value = strtod(word, &end);
    if (end == word || !strchr("0123456789.", word[0])) value = NAN;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    for (const char *at = letters; letter && at <= letter; at++) value *= 1000;
    if (letter) end++;
    if (*end || !isfinite(value) || !(value > 0))
        return FAIL(self, "%s: expected a rate above 0, such as 32G, found '%.40s'", what, word);
    *rate = value;
    return FM_OK;
}

/* "32K": bytes, powers of 1024. */
static fm_status read_size(reader *self, const char *what, const char *word, uint64_t *size)
{
    static const char letters[] = "KMGT";
    if (!word) return FAIL(self, "expected a number behind '%s'", what);
    uint64_t value = 0;
    const char *at = word;
    bool fits = *at != '\0';
    for (; *at >= '0' && *at <= '9'; at++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
    const char *letter = *at ? strchr(letters, *at) : NULL;
    if (letter) {
        const unsigned shift = 10 * (unsigned)(letter - letters + 1);
        fits = fits && at > word && value <= UINT64_MAX >> shift;
        value <<= shift;
        at++;
    }
    if (!fits || *at || value == 0)
        return FAIL(self, "%s: expected a whole number above 0, such as 64 or 32K, found '%.40s'", what,
                    word);
    *size = value;
    return FM_OK;
}

/* What the line does not say of a cache, from the cache of that name that this machine has. */
static fm_status fill_in(reader *self, fm_cache *cache)
{
    if (cache->bytes) return FM_OK;
    if (!self->caches_known) {
        fm_error reason;
        if (fm_machine_caches(self->caches, FM_MOST_LEVELS, &self->cache_count, &reason))
            return FAIL(self, "the size of %s is not given, and %.200s", cache->name, reason.reason);
        self->caches_known = true;
    }
    for (size_t i = 0; i < self->cache_count; i++) {
        if (strcmp(self->caches[i].name, cache->name) != 0) continue;
        cache->bytes = self->caches[i].bytes;
        if (!cache->ways) cache->ways = self->caches[i].ways;
        if (!cache->line) cache->line = self->caches[i].line;
        cache->shared_by = self->caches[i].shared_by;
        return FM_OK;
    }
    return FAIL(self, "the size of %s is not given, and hwloc finds no cache of that name on this machine",
                cache->name);
}

static fm_status check_cache(reader *self, const fm_cache *cache)
{
    const fm_machine *machine = self->machine;
    uint64_t set = cache->line ? cache->line : 1;
    if (cache->line & (cache->line - 1)) return FAIL(self, "%s: the line is no power of two", cache->name);
    if (cache->bytes < set) return FAIL(self, "%s: it is smaller than its line", cache->name);
    if (cache->ways && cache->line &&
        (__builtin_mul_overflow(set, cache->ways, &set) || cache->bytes % set != 0))
        return FAIL(self, "%s: the size is no multiple of one set, ways times line bytes", cache->name);
    for (size_t i = 0; i < machine->level_count; i++)
        if (strcmp(machine->levels[i].name, cache->name) == 0)
            return FAIL(self, "there is a cache %s already", cache->name);
    if (machine->level_count && machine->levels[machine->level_count - 1].bytes >= cache->bytes)
        return FAIL(self, "%s: it is not larger than %s before it: the smallest cache is the first",
                    cache->name, machine->levels[machine->level_count - 1].name);
    return FM_OK;
}

static fm_status read_cache(reader *self, char **rest, bool *broken)
{
    fm_machine *machine = self->machine;
    const char *name = next_word(rest, broken), *key;
    fm_cache cache = {{0}, 0, 0, 0, 0};
    double bandwidth = 0;
    fm_status status = FM_OK;
    if (!name || !name[0] || strlen(name) >= sizeof cache.name)
        return FAIL(self, "expected a name of a cache, such as L1d, of at most %zu bytes",
                    sizeof cache.name - 1);
    if (machine->level_count == FM_MOST_LEVELS) return FAIL(self, "at most %d caches", FM_MOST_LEVELS);
    memcpy(cache.name, name, strlen(name));
    while (status == FM_OK && (key = next_word(rest, broken))) {
        uint64_t *size = strcmp(key, "size") == 0   ? &cache.bytes
                         : strcmp(key, "ways") == 0 ? &cache.ways
                         : strcmp(key, "line") == 0 ? &cache.line
                                                    : NULL;
        const char *value = next_word(rest, broken);
        if (size && *size) return FAIL(self, "%s of %s: given twice", key, cache.name);
        if (size)
            status = read_size(self, key, value, size);
        else if (strcmp(key, "bandwidth") == 0 && bandwidth > 0)
            return FAIL(self, "bandwidth of %s: given twice", cache.name);
        else if (strcmp(key, "bandwidth") == 0)
            status = read_rate(self, key, value, &bandwidth);
        else
            return FAIL(self, "expected size, ways, line or bandwidth, found '%.40s'", key);
    }
    if (status == FM_OK) status = fill_in(self, &cache);
    if (status == FM_OK) status = check_cache(self, &cache);
    if (status != FM_OK) return status;
    machine->bandwidths[machine->level_count] = bandwidth;
    machine->levels[machine->level_count++] = cache;
    return FM_OK;
}

static fm_status read_statement(reader *self, const char *key, char **rest, bool *broken)
{
    if (strcmp(key, "cache") == 0) return read_cache(self, rest, broken);
    int rate = 0;
    while (rate < RATES && strcmp(key, rate_names[rate]) != 0) rate++;
    if (rate == RATES && strcmp(key, "name") != 0)
        return FAIL(self,
                    "expected name, flops, integers, loads, stores, accesses, cache or memory, found '%.40s'",
                    key);
    if (self->seen & 1U << rate) return FAIL(self, "'%s' is given twice", key);
    self->seen |= 1U << rate;
    const char *word = next_word(rest, broken);
    if (rate == NAME) {
        if (!word) return FAIL(self, "expected a text behind 'name'");
        if (strlen(word) >= sizeof self->machine->name)
            return FAIL(self, "a name has at most %zu bytes", sizeof self->machine->name - 1);
        memcpy(self->machine->name, word, strlen(word));
        return FM_OK;
    }
    if (rate == MEMORY) {
        if (!word || strcmp(word, "bandwidth") != 0)
            return FAIL(self, "expected 'bandwidth' behind 'memory'");
        word = next_word(rest, broken);
    }
    return read_rate(self, key, word, rate_at(self->machine, rate));
}

static fm_status read_line(reader *self, char *line, bool *begun)
{
    bool broken = false;
    char *rest = line;
    const char *key = next_word(&rest, &broken);
    if (!key) return FM_OK;
    fm_status status;
    if (!*begun) {
        const char *version = next_word(&rest, &broken);
        *begun = true;
        status = strcmp(key, "fathom-machine") == 0 && version && strcmp(version, "1") == 0
                     ? FM_OK
                     : FAIL(self, "this is no machine: its first words are not 'fathom-machine 1'");
    } else {
        status = read_statement(self, key, &rest, &broken);
    }
    if (status != FM_OK) return status;
    if (broken) return FAIL(self, "a text has no end: '\"' is missing");
    const char *more = next_word(&rest, &broken);
    return more ? FAIL(self, "unexpected '%.40s'", more) : FM_OK;
}

fm_status fm_machine_read(fm_machine **machine, const char *path, fm_error *error)
{
    fm_text_file file;
    *machine = NULL;
    fm_status status = fm_text_file_read(&file, path, UINT64_MAX, error);
    if (status == FM_OK && file.why[0])
        status = fm_fail(error, file.missing ? FM_E_IO : FM_E_FORMAT, path, "%s", file.why);
    reader self = {.machine = fm_calloc(1, sizeof **machine), .path = path, .error = error};
    if (status == FM_OK && !self.machine) status = fm_fail_memory(error, sizeof **machine, "a machine");
    bool begun = false;
    char *rest = status == FM_OK ? file.bytes : NULL;
    while (status == FM_OK && rest) {
        self.line++;
        status = read_line(&self, strsep(&rest, "\n"), &begun);
    }
    if (status == FM_OK && !begun) status = FAIL(&self, "this is no machine: there is nothing in it");
    if (status == FM_OK && self.machine->level_count == 0)
        status = fm_machine_caches(self.machine->levels, FM_MOST_LEVELS, &self.machine->level_count, error);
    fm_text_file_clear(&file);
    if (status == FM_OK && !self.machine->name[0])
        snprintf(self.machine->name, sizeof self.machine->name, "%.120s", path);
    if (status == FM_OK)
        *machine = self.machine;
    else
        fm_machine_destroy(self.machine);
    return status;
}

void fm_machine_destroy(fm_machine *machine)
{
    free(machine);
}

/* ---- this machine ---- */

static void ask_hwloc_name(fm_machine *machine)
{
    hwloc_topology_t topology;
    const char *name = NULL;
    if (hwloc_topology_init(&topology) != 0) return;
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
        if (package) name = hwloc_obj_get_info_by_name(package, "CPUModel");
        if (name) snprintf(machine->name, sizeof machine->name, "%s", name);
    }
    hwloc_topology_destroy(topology);
}

/* The processor's name, where it is known. */
static void find_name(fm_machine *machine)
{
    if (hwloc_is_told() || !fm_cpuinfo_name("", machine->name, sizeof machine->name)) ask_hwloc_name(machine);
    for (char *at = machine->name; *at; at++)
        if (*at == '"' || (unsigned char)*at < ' ') *at = ' ';
}

fm_status fm_machine_this(fm_machine **machine, fm_error *error)
{
    fm_machine *made = *machine = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "a machine");
    fm_status status = fm_machine_caches(made->levels, FM_MOST_LEVELS, &made->level_count, error);
    find_name(made);
    if (!made->name[0]) snprintf(made->name, sizeof made->name, "this machine");
    if (status == FM_OK) return FM_OK;
    fm_machine_destroy(made);
    *machine = NULL;
    return status;
}

static void write_rate(FILE *stream, const char *key, double rate, const char *example, const char *about)
{
    if (rate > 0)
        fprintf(stream, "%s %.17g\n", key, rate);
    else
        fprintf(stream, "# %-22s # %s\n", example, about);
}

void fm_machine_write(const fm_machine *machine, FILE *stream)
{
    static const char *const examples[RATES] = {"flops 32G", "integers 16G", "loads 8G",
                                                "stores 4G", "accesses 12G", "memory bandwidth 20G"};
    static const char *const abouts[RATES] = {
        "floating-point operations: clock x lanes x units x 2 with fused multiply-add",
        "operations on whole numbers",
        "loads of elements; a vector load is one for each lane",
        "stores, likewise",
        "loads and stores together, where they share ports",
        "bytes out of memory, as a stream of loads gets them"};
    fputs("fathom-machine 1\n", stream);
    fprintf(stream, "name \"%s\"\n\n", machine->name);
    fputs("# Rates in a second, of one processor; K, M, G, T are powers of 1000. What has no rate bounds "
          "nothing:\n"
          "# remove the # in front, and put your machine's numbers in.\n",
          stream);
    for (int i = 0; i < MEMORY; i++)
        write_rate(stream, rate_names[i], *rate_at((fm_machine *)machine, i), examples[i], abouts[i]);
    fputs("\n# Caches, the smallest first; sizes in powers of 1024. bandwidth: bytes that a cache passes on "
          "to the one\n"
          "# before it (the first one: to the processor), its own and those from further away.\n",
          stream);
    for (size_t i = 0; i < machine->level_count; i++) {
        const fm_cache *level = &machine->levels[i];
        fprintf(stream, "cache %s size %llu", level->name, (unsigned long long)level->bytes);
        if (level->ways) fprintf(stream, " ways %llu", (unsigned long long)level->ways);
        if (level->line) fprintf(stream, " line %llu", (unsigned long long)level->line);
        if (machine->bandwidths[i] > 0)
            fprintf(stream, " bandwidth %.17g\n", machine->bandwidths[i]);
        else
            fputs(" # bandwidth 100G\n", stream);
    }
    putc('\n', stream);
    write_rate(stream, "memory bandwidth", machine->memory, examples[MEMORY], abouts[MEMORY]);
}
