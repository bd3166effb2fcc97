/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by every way of sharing a loop that OpenMP has: says which are wrong. */
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 200000 };
static long *numbers, count;

#define SUM(name, pragma)                                                                                    \
    static long name(void)                                                                                   \
    {                                                                                                        \
        long sum = 0;                                                                                        \
        _Pragma(pragma) for (long i = 0; i < count; i++) sum += numbers[i];                                  \
        return sum;                                                                                          \
    }
SUM(dynamic, "omp parallel for reduction(+:sum) schedule(dynamic, 1000)")
SUM(guided, "omp parallel for reduction(+:sum) schedule(guided)")
SUM(by_environment, "omp parallel for reduction(+:sum) schedule(runtime)")
SUM(automatic, "omp parallel for reduction(+:sum) schedule(auto)")
SUM(fixed, "omp parallel for reduction(+:sum)")
SUM(chunks, "omp parallel for reduction(+:sum) schedule(static, 100)")
SUM(simd, "omp simd reduction(+:sum)")
SUM(simd_shared, "omp parallel for simd reduction(+:sum)")
SUM(simd_dynamic, "omp parallel for simd reduction(+:sum) schedule(dynamic, 100)")
SUM(tasks, "omp parallel master taskloop reduction(+:sum) grainsize(1000)")

int main(void)
{
    static const struct {
        const char *name;
        long (*sum)(void);
    } ways[] = {{"dynamic", dynamic}, {"guided", guided},        {"runtime", by_environment},
                {"auto", automatic},  {"static", fixed},         {"static, 100", chunks},
                {"simd", simd},       {"for simd", simd_shared}, {"for simd dynamic", simd_dynamic},
                {"taskloop", tasks}};
    count = NUMBERS;
    numbers = malloc(NUMBERS * sizeof *numbers);
    if (!numbers) return 1;
    for (long i = 0; i < count; i++) numbers[i] = 2 * i;
    int wrong = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const long sum = ways[i].sum();
        if (sum == (long)NUMBERS * (NUMBERS - 1)) continue;
        printf("%s: %ld\n", ways[i].name, sum);
        wrong++;
    }
    free(numbers);
    return wrong;
}
