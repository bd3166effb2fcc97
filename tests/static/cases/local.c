/* Arrays of the function itself: with first values, allocated, with an extent that is a parameter. */
#include <stdlib.h>
void local(int n)
{
    double weights[2][4] = {{0.25, 0.5}, {1.0}};
    double *line = malloc(n * sizeof *line), *plane = (double *)malloc(sizeof(double) * n * 4);
    double row[n];
    for (int i = 0; i < n; i++) row[i] = line[i] * weights[0][1];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++) plane[4 * i + j] = row[i];
    free(plane);
    free(line);
}
