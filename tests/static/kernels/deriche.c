/* SPDX-License-Identifier: Apache-2.0 */
/* Edges of an image: a recursive filter forwards and backwards, along rows and along columns. */
#include <math.h>
void kernel_deriche(int w, int h, float alpha, float from[restrict w][h], float to[restrict w][h],
                    float y1[restrict w][h], float y2[restrict w][h])
{
    float k = (1.0f - expf(-alpha)) * (1.0f - expf(-alpha)) /
              (1.0f + 2.0f * alpha * expf(-alpha) - expf(2.0f * alpha));
    float a1 = k, a5 = k, a2 = k * expf(-alpha) * (alpha - 1.0f), a6 = a2;
    float a3 = k * expf(-alpha) * (alpha + 1.0f), a7 = a3, a4 = -k * expf(-2.0f * alpha), a8 = a4;
    float b1 = powf(2.0f, -alpha), b2 = -expf(-2.0f * alpha), c1 = 1.0f, c2 = 1.0f;
    float x1, x2, before, before2;
    for (int i = 0; i < w; i++) {
        before = 0.0f;
        before2 = 0.0f;
        x1 = 0.0f;
        for (int j = 0; j < h; j++) {
            y1[i][j] = a1 * from[i][j] + a2 * x1 + b1 * before + b2 * before2;
            x1 = from[i][j];
            before2 = before;
            before = y1[i][j];
        }
    }
    for (int i = 0; i < w; i++) {
        before = 0.0f;
        before2 = 0.0f;
        x1 = 0.0f;
        x2 = 0.0f;
        for (int j = h - 1; j >= 0; j--) {
            y2[i][j] = a3 * x1 + a4 * x2 + b1 * before + b2 * before2;
            x2 = x1;
            x1 = from[i][j];
            before2 = before;
            before = y2[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++) to[i][j] = c1 * (y1[i][j] + y2[i][j]);
    for (int j = 0; j < h; j++) {
        x1 = 0.0f;
        before = 0.0f;
        before2 = 0.0f;
        for (int i = 0; i < w; i++) {
            y1[i][j] = a5 * to[i][j] + a6 * x1 + b1 * before + b2 * before2;
            x1 = to[i][j];
            before2 = before;
            before = y1[i][j];
        }
    }
    for (int j = 0; j < h; j++) {
        x1 = 0.0f;
        x2 = 0.0f;
        before = 0.0f;
        before2 = 0.0f;
        for (int i = w - 1; i >= 0; i--) {
            y2[i][j] = a7 * x1 + a8 * x2 + b1 * before + b2 * before2;
            x2 = x1;
            x1 = to[i][j];
            before2 = before;
            before = y2[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++) to[i][j] = c2 * (y1[i][j] + y2[i][j]);
}
