/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - names in an ELF file: which variable covers an address, where the code of a function is, which
 * build a file is. Internal; sites of an attribution are resolved through fm_symbols_resolve
 * (fathom/attribution.h).
 *
 * All addresses are those of the file, as objdump shows them: address in memory - fm_module.bias.
 *
 * Separate debug files (/usr/lib/debug, by build id or .gnu_debuglink) are used where they are. Nothing is
 * ever fetched from a network. A file that is damaged or is no ELF gives fewer names, never a crash.
 */
#ifndef FATHOM_SYMBOLS_SYMBOLS_H
#define FATHOM_SYMBOLS_SYMBOLS_H

#include <fathom/status.h>

typedef struct fm_symbols fm_symbols;

/* Fails with FM_E_IO when the file cannot be opened, FM_E_FORMAT when it is no ELF file. Not locked: one
 * thread at a time; different files are independent. */
fm_status fm_symbols_open(fm_symbols **symbols, const char *path, fm_error *error);
void fm_symbols_close(fm_symbols *symbols); /* NULL is fine */

/* The build id of a file in hexadecimal; false and "" where it has none or cannot be read (errno: ENOMEM
 * where memory was short). Cheap: reads the headers only. */
enum { FM_BUILD_ID_TEXT = 2 * 64 + 1 };
bool fm_symbols_build_id(const char *path, char text[FM_BUILD_ID_TEXT]);

/* Reads the symbol table, where that was not done yet. Fails only when memory is short. */
fm_status fm_symbols_read_table(fm_symbols *symbols, fm_error *error);

/*
 * The data symbol (also of static variables) that covers an address; false: none does, or the table could not
 * be read. *name is demangled, without the compiler's suffixes, and lives until fm_symbols_close. A binary
 * search, once the table is read. False: *start and *size are the gap between symbols that it is in (size 0:
 * not known). Thread-local variables are not found: their addresses are not those of the
 * file.
 */
bool fm_symbols_variable(fm_symbols *symbols, uint64_t address, const char **name, uint64_t *start,
                         uint64_t *size);
/* The same for thread-local variables; offset: from the beginning of the module's part of a thread's storage.
 */
bool fm_symbols_thread_local(fm_symbols *symbols, uint64_t offset, const char **name, uint64_t *start,
                             uint64_t *size);

/*
 * Where the code of a function is: [low, high), ascending, disjoint. A name fits
 *   - as the linker has it ("_ZN3Box3addEi", "step_"), clones of it (.cold, .part.0, .constprop.1, .isra.2)
 * included;
 *   - demangled, with or without arguments, template arguments and leading scopes: "ns::Box::add(int)",
 *     "ns::Box::add", "Box::add", "add"; Fortran: "solver::step", "step" (lower case as in the debug
 * information). Several functions may fit: all of them count. inlined: also the copies that were inlined into
 * other functions (needs debug information, and reads all of it). The caller frees *ranges; *count is 0 where
 * nothing fits.
 */
typedef struct fm_code_range {
    uint64_t low, high;
    bool inlined; /* part of another function */
} fm_code_range;
fm_status fm_symbols_function_ranges(fm_symbols *symbols, const char *name, bool inlined,
                                     fm_code_range **ranges, size_t *count, fm_error *error);

#endif
