/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.c - n bodies that attract each other, all pairs, three steps. */
#include "kernel.h"

typedef struct body {
    double x, y, z, vx, vy, vz;
} body;

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    body *bodies = kernel_memory(n, sizeof *bodies);
    uint64_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        bodies[i].x = (double)(kernel_random(&seed) % 1000);
        bodies[i].y = (double)(kernel_random(&seed) % 1000);
        bodies[i].z = (double)(kernel_random(&seed) % 1000);
    }
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < n; i++) {
            double fx = 0, fy = 0, fz = 0;
            for (size_t j = 0; j < n; j++) {
                const double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y,
                             dz = bodies[j].z - bodies[i].z;
                const double weight = 1 / (dx * dx + dy * dy + dz * dz + 1);
                fx += dx * weight, fy += dy * weight, fz += dz * weight;
            }
            bodies[i].vx += fx, bodies[i].vy += fy, bodies[i].vz += fz;
        }
        for (size_t i = 0; i < n; i++) {
            bodies[i].x += bodies[i].vx;
            bodies[i].y += bodies[i].vy;
            bodies[i].z += bodies[i].vz;
        }
    }
    return kernel_done(bodies[0].x);
}
