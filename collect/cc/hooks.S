/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hooks.S - the hooks that compilers call before a load or store, and the only code that puts words into a
 * ring.
 *
 * Each function here has four properties that C cannot promise:
 *
 * 1. It begins at a multiple of FM_HOOK_SLOT and is not longer, so that its beginning follows from any
 *    address in it.
 * 2. Until its last store, which moves the cursor and so makes the words count, it changes neither its
 *    arguments nor anything that matters: it can be begun anew at any moment. When a signal interrupts it,
 *    signal.c makes it begin anew after the handler; words of the handler then lie before, and none is lost
 *    or torn.
 * 3. After the last store comes the only `ret`, which is how signal.c knows that there is nothing to repeat.
 * 4. It looks for the channel in thread-local storage first, so that what begins anew after a fork in a
 *    handler finds the child's channel.
 *
 * It needs no more than the registers that any call may change.
 */
#include "layout.h"

#define RECORD_PAGE 0x9500000000000000 /* FM_RECORD(FM_RECORD_PAGE, 0, 0); access.c checks it */

    .section .text.fathom_hooks, "ax", @progbits
    .p2align 7
    .globl fm_hooks_begin
    .hidden fm_hooks_begin
fm_hooks_begin:

    .macro begin name
    .p2align 7
    .type \name, @function
\name:
    .cfi_startproc
    .endm

    .macro end name
    .cfi_endproc
    .size \name, . - \name
    .org \name + FM_HOOK_SLOT, 0xCC /* an error when it is longer than its slot */
    .endm

    /* %rax = the channel of a cell; leads to 1: when there is none. */
    .macro channel cell
#ifdef FM_VARIANT_LIBRARY
    movq __fathom_my@gottpoff(%rip), %rax
    movq %fs:\cell(%rax), %rax
#else
    movq %fs:__fathom_my@tpoff + \cell, %rax
#endif
    testq %rax, %rax
    je 1f
    .endm

    /* %rcx = the cursor; leads to 2: when it is beyond the limit, or the thread has not asked yet. */
    .macro room
    movq FM_CURSOR(%rax), %rcx
    cmpq FM_LIMIT(%rax), %rcx
    ja 2f
    .endm

    /*
     * void name(address): one word. The code page is compared by exclusive or, which leaves the offset in
     * the page. The highest bit of the word must be clear, whatever the program takes for an address.
     */
    .macro access name, cell, code
    .globl \name
    begin \name
    channel \cell
    movq (%rsp), %rdx
    decq %rdx /* an address in the call: see FM_SITE */
    andq FM_MASK(%rax), %rdx
    xorq FM_PAGE(%rax), %rdx
    cmpq $0xfff, %rdx
    ja 3f
    room
    movq %rdi, %rsi
    shlq $17, %rsi
    shrq $1, %rsi
    leaq (\code << 12)(%rsi, %rdx), %rsi
    movq %rsi, (%rcx)
    addq $8, %rcx
    movq %rcx, FM_CURSOR(%rax)
1:  ret
2:  movl $\code, %esi
    movq (%rsp), %rdx
    decq %rdx
    jmp fm_access_slow
3:  movl $\code, %r9d
    jmp fm_access_page
    end \name
    .endm

    /* The same after a change of code page: %rdi address, %r9d code, return address of the hook on the stack. */
    begin fm_access_page
    channel FM_CELL_ANY
    room
    movq (%rsp), %rdx
    decq %rdx
    andq FM_MASK(%rax), %rdx
    movl %edx, %r8d
    andl $0xfff, %r8d
    andq $-4096, %rdx
    movq %rdx, FM_PAGE(%rax) /* before the cursor: see fm_signal_entry */
    shlq $4, %rdx
    movabsq $RECORD_PAGE, %r10
    orq %r10, %rdx
    movq %rdx, (%rcx)
    movl %r9d, %r10d
    shll $12, %r10d
    orl %r8d, %r10d
    movq %rdi, %rsi
    shlq $17, %rsi
    shrq $1, %rsi
    orq %r10, %rsi
    movq %rsi, 8(%rcx)
    addq $16, %rcx
    movq %rcx, FM_CURSOR(%rax)
1:  ret
2:  movl %r9d, %esi
    movq (%rsp), %rdx
    decq %rdx
    jmp fm_access_slow
    end fm_access_page

    access __tsan_read1, FM_CELL_LOAD, 1
    access __tsan_read2, FM_CELL_LOAD, 2
    access __tsan_read4, FM_CELL_LOAD, 3
    access __tsan_read8, FM_CELL_LOAD, 4
    access __tsan_read16, FM_CELL_LOAD, 5
    access __tsan_write1, FM_CELL_STORE, 8
    access __tsan_write2, FM_CELL_STORE, 9
    access __tsan_write4, FM_CELL_STORE, 10
    access __tsan_write8, FM_CELL_STORE, 11
    access __tsan_write16, FM_CELL_STORE, 12
    access __fathom_load32, FM_CELL_LOAD, 6
    access __fathom_store32, FM_CELL_STORE, 13

    /* void name(address, length): vectors of 32 bytes are the most frequent. */
    .macro other name, sized, slow
    .globl \name
    begin \name
    cmpq $32, %rsi
    je \sized
    jmp \slow
    end \name
    .endm

    other __fathom_loadN, __fathom_load32, fm_load_other
    other __fathom_storeN, __fathom_store32, fm_store_other
    .hidden fm_load_other, fm_store_other

    /* The receiver cuts at blocks by address and size: alignment makes no difference here. */
    .macro same name, as
    .globl \name
    .type \name, @function
    .set \name, \as
    .endm
    .irp size, 1, 2, 4, 8, 16
    same __tsan_unaligned_read\size, __tsan_read\size
    same __tsan_unaligned_write\size, __tsan_write\size
    same __tsan_volatile_read\size, __tsan_read\size
    same __tsan_volatile_write\size, __tsan_write\size
    same __tsan_unaligned_volatile_read\size, __tsan_read\size
    same __tsan_unaligned_volatile_write\size, __tsan_write\size
    same __fathom_load\size, __tsan_read\size
    same __fathom_store\size, __tsan_write\size
    .endr
    same __tsan_vptr_read, __tsan_read8

    /* void fm_append1(word) */
    .macro append name
    .globl \name
    .hidden \name
    begin \name
    channel FM_CELL_ANY
    room
    .endm

    append fm_append1
    movq %rdi, (%rcx)
    addq $8, %rcx
    movq %rcx, FM_CURSOR(%rax)
1:  ret
2:  jmp fm_append1_slow
    end fm_append1

    append fm_append2
    movq %rdi, (%rcx)
    movq %rsi, 8(%rcx)
    addq $16, %rcx
    movq %rcx, FM_CURSOR(%rax)
1:  ret
2:  jmp fm_append2_slow
    end fm_append2

    /* The cursor must be in another register: %rcx is the fourth argument. */
    .globl fm_append4
    .hidden fm_append4
    begin fm_append4
    channel FM_CELL_ANY
    movq FM_CURSOR(%rax), %r8
    cmpq FM_LIMIT(%rax), %r8
    ja 2f
    movq %rdi, (%r8)
    movq %rsi, 8(%r8)
    movq %rdx, 16(%r8)
    movq %rcx, 24(%r8)
    addq $32, %r8
    movq %r8, FM_CURSOR(%rax)
1:  ret
2:  jmp fm_append4_slow
    end fm_append4

    /* void fm_append_many(words, count) */
    append fm_append_many
    xorl %edx, %edx
    jmp 4f
3:  movq (%rdi, %rdx, 8), %r8
    movq %r8, (%rcx, %rdx, 8)
    incq %rdx
4:  cmpq %rsi, %rdx
    jb 3b
    leaq (%rcx, %rsi, 8), %rcx
    movq %rcx, FM_CURSOR(%rax)
1:  ret
2:  jmp fm_append_many_slow
    end fm_append_many

    .p2align 7
    .globl fm_hooks_end
    .hidden fm_hooks_end
fm_hooks_end:

    .hidden fm_access_slow, fm_append1_slow, fm_append2_slow, fm_append4_slow, fm_append_many_slow
    .section .note.GNU-stack, "", @progbits
