/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h - who called a function, by the rules of an ELF file (.eh_frame): from the registers in a
 * function those of its caller. x86-64. Internal.
 *
 * Rules that were read are kept, so that a step costs little the second time. All addresses of code are those
 * of the file. A file that is damaged has fewer rules, never a crash.
 */
#ifndef FATHOM_SYMBOLS_UNWIND_H
#define FATHOM_SYMBOLS_UNWIND_H

#include <fathom/status.h>

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
