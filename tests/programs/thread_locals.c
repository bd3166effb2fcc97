/* SPDX-License-Identifier: Apache-2.0 */
/* thread-local variables: main reads its `first` twice, a thread its own three times and `second` once, all
 * of 512 KiB; with a plug-in (argument), the thread calls `use` of it, which has one more */
#include "touch.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
enum { BLOCKS = 8192 };
static __thread char first[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
__thread char second[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
static void (*use)(void);
static void *work(void *unused)
{
    touch(first, BLOCKS, 3);
    touch(second, BLOCKS, 1);
    if (use) use();
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    touch(first, BLOCKS, 2);
    if (argc > 1) {
        void *plugin = dlopen(argv[1], RTLD_NOW);
        if (!plugin) return 1;
        *(void **)&use = dlsym(plugin, "use");
        if (!use) return 1;
    }
    return pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0;
}
