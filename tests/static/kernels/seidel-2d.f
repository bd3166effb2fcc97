* SPDX-License-Identifier: Apache-2.0
* seidel-2d: means of neighbours, in place, in fixed form.
      SUBROUTINE KERNEL_SEIDEL_2D(TSTEPS, N, A)
      INTEGER TSTEPS, N, T, I, J
      DOUBLE PRECISION A(N, N)
      DO 10 T = 1, TSTEPS
      DO 10 I = 2, N - 1
      DO 10 J = 2, N - 1
      A(J, I) = (A(J - 1, I - 1) + A(J, I - 1) + A(J + 1, I - 1)
     1         + A(J - 1, I) + A(J, I) + A(J + 1, I)
     2         + A(J - 1, I + 1) + A(J, I + 1) + A(J + 1, I + 1)) / 9D0
   10 CONTINUE
      END
