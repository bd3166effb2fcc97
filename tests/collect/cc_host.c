/* SPDX-License-Identifier: Apache-2.0 */
/* cc_host.c - a program that need not be instrumented, and loads libraries that are: calls touch_library of
 * each file that it is given, in two threads, 5 times each. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *use(void *function)
{
    void (*touch_library)(int) = (void (*)(int))function;
    touch_library(5);
    return NULL;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        void *function = library ? dlsym(library, "touch_library") : NULL;
        if (!function) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        use(function);
        pthread_t thread;
        if (pthread_create(&thread, NULL, use, function) != 0) return 1;
        pthread_join(thread, NULL);
        if (i == 1) dlclose(library);
    }
    return 0;
}
