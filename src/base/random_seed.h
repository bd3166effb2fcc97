/* SPDX-License-Identifier: Apache-2.0 */
/* random_seed.h - a seed for hash tables that nobody outside can guess: nobody crafts keys that collide. */
#ifndef FATHOM_BASE_RANDOM_SEED_H
#define FATHOM_BASE_RANDOM_SEED_H

#include <stdint.h>

uint64_t fm_random_seed(void); /* never 0 */

#endif
