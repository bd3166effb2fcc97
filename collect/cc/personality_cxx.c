/* SPDX-License-Identifier: BSD-2-Clause */
/* personality_cxx.c - see personality.h: that of C++. */
#include "personality.h"

PERSONALITY(__gxx_personality_v0)
