/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 8 (b) of the paper: STREAM's triad of 1,000,000 elements. */
#define LINE __attribute__((aligned(64))) /* arrays begin a line */
enum { SIZE = 1000000 };
double a[SIZE] LINE, b[SIZE] LINE, c[SIZE] LINE;
void triad(double scalar)
{
    for (int j = 0; j < SIZE; j++) a[j] = b[j] + scalar * c[j];
}
