/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen, call, dlclose, three times: the plug-in touches 40 blocks; itself 100 once */
#include "touch.h"
#include <dlfcn.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    touch(data, 100, 1);
    for (int i = 0; i < 3 && argc > 1; i++) {
        void *plugin = dlopen(argv[1], RTLD_NOW);
        if (!plugin) return 2;
        void (*work)(void) = (void (*)(void))dlsym(plugin, "plugin_work");
        if (!work) return 3;
        work();
        dlclose(plugin);
    }
    return 0;
}
