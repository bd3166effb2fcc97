# SPDX-License-Identifier: BSD-2-Clause
#
# inline.s - hooks are called only where somebody listens.
#
# The assembler reads this file before each one that gcc hands it (-Wa,inline.s). It makes `call` a macro: in front of a
# call of __tsan_read8 and its sisters comes the look at thread-local storage that the hook begins with, and where
# there is nothing, the call is left out. A program that nobody profiles is twice as fast by that; one that is
# profiled is not slower. Every other call stays what it was (`callq` is the instruction's other name).
#
# With fathom_pic defined (--defsym) the code may become part of a shared library, and finds thread-local storage through
# the table of offsets. The compiler believes that a function is called: %rax and the flags are free.
#
# Offsets are those of fm_cells (access.c checks them): 0 for loads, 8 for stores, 24 for calls.

    .ifndef fathom_inline # link-time optimization names this file twice
    .set fathom_inline, 1

    .macro fathom_hook cell, target
    .ifdef fathom_pic
    movq __fathom_my@gottpoff(%rip), %rax
    cmpq $0, %fs:\cell(%rax)
    .else
    cmpq $0, %fs:__fathom_my@tpoff + \cell
    .endif
    je 77901f
    callq \target
77901:
    .endm

    # The most frequent first: a call is compared with one after the other.
    .macro call target:vararg
    .ifeqs "\target", "__tsan_read8@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read4@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read1@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write8@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write4@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write1@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load32@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load16@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store32@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store16@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read2@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write2@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_func_entry@PLT"
    fathom_hook 24, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_func_exit@PLT"
    fathom_hook 24, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read16@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write16@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load8@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load4@PLT"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store8@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store4@PLT"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read8"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read4"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read1"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write8"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write4"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write1"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load32"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load16"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store32"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store16"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read2"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write2"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_func_entry"
    fathom_hook 24, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_func_exit"
    fathom_hook 24, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_read16"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__tsan_write16"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load8"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_load4"
    fathom_hook 0, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store8"
    fathom_hook 8, \target
    .exitm
    .endif
    .ifeqs "\target", "__fathom_store4"
    fathom_hook 8, \target
    .exitm
    .endif
    callq \target
    .endm

    .endif
