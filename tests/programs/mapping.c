/* SPDX-License-Identifier: Apache-2.0 */
/* maps argv[1] GiB, of which it uses the last 100 blocks three times; exits with 2 where it cannot */
#include "touch.h"
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 64) << 30;
    char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return 2;
    touch(all + bytes - 100 * BLOCK, 100, 3);
    return 0;
}
