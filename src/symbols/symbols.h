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

/* ---- unwind ---- */

/*
 * Who called a function, by the rules of an ELF file (.eh_frame): from the registers in a
 * function those of its caller. x86-64. Internal.
 *
 * Rules that were read are kept, so that a step costs little the second time. All addresses of code are those
 * of the file. A file that is damaged has fewer rules, never a crash.
 */

/* As DWARF numbers the registers of x86-64. */
enum {
    FM_UNWIND_RBX = 3,
    FM_UNWIND_RBP = 6,
    FM_UNWIND_RSP = 7,
    FM_UNWIND_R12 = 12,
    FM_UNWIND_RIP = 16,
    FM_UNWIND_REGISTERS = 17
};

typedef struct fm_unwind_registers {
    uint64_t value[FM_UNWIND_REGISTERS];
    uint32_t known; /* one bit each */
} fm_unwind_registers;

/* Reads 8 bytes of the program's stack; false: they are not known. */
typedef bool (*fm_unwind_read)(void *context, uint64_t address, uint64_t *value);

typedef struct fm_unwinder fm_unwinder;
/* FM_E_IO: it cannot be read. A file without rules is one all the same. */
fm_status fm_unwinder_open(fm_unwinder **unwinder, const char *path, fm_error *error);
void fm_unwinder_close(fm_unwinder *unwinder); /* NULL is fine */

/* Whether there is a rule for the instruction at an address. */
bool fm_unwinder_knows(fm_unwinder *unwinder, uint64_t address);

/*
 * One step outwards: `registers`, of the function with the instruction at `address` (in the file; for a
 * caller, one byte before where it is returned to), become those of its caller, rsp being behind the return
 * address then. False: there is no rule, what it needs is not known, or this is the outermost function.
 */
bool fm_unwinder_step(fm_unwinder *unwinder, uint64_t address, fm_unwind_registers *registers,
                      fm_unwind_read read, void *context);

#endif
