/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_shape.h - asks Zydis what an instruction is; see burst_decode.h. */
#ifndef FATHOM_BURST_SHAPE_H
#define FATHOM_BURST_SHAPE_H

#include "burst_decode.h"

/*
 * Fills in everything that burst_instruction says of the bytes at in->bytes, at most `room` of them:
 * registers, memory, and the shape, whose immediate is right where there is no displacement behind it. The
 * group is BURST_STOP where the instruction is unknown or is not run in bursts.
 */
void burst_shape_ask(burst_instruction *in, const burst_vectors *vectors, size_t room);

#endif
