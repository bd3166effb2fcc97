/* Only what is between the pragmas; what stands before is followed as far as it can be. */
#include <stdio.h>
#include <stdlib.h>
static double A[20], B[20];
void scop(int n)
{
    int half = n / 2, from = 1, unknown = atoi("3");
    double *start = &A[from];
    printf("beginning %d\n", unknown);
    for (int i = 0; i < 20; i++) A[i] = 1.0;
#pragma scop
    for (int i = from; i < half; i++) start[i] = B[i + half];
    for (int i = 0; i < unknown; i++) B[i] = 0.0;
#pragma endscop
    printf("%f\n", A[0]);
}
