* SPDX-License-Identifier: Apache-2.0
* gemver: two rank-1 updates and two products of a matrix and a vector, in fixed form.
      SUBROUTINE KERNEL_GEMVER(N, ALPHA, BETA, A, U1, V1, U2, V2, W,
     &                         X, Y, Z)
      INTEGER N
      DOUBLE PRECISION ALPHA, BETA
      DOUBLE PRECISION A(N, N), U1(N), V1(N), U2(N), V2(N)
      DOUBLE PRECISION W(N), X(N), Y(N), Z(N)
      INTEGER I, J
      DO 20 I = 1, N
        DO 10 J = 1, N
          A(J, I) = A(J, I) + U1(I) * V1(J) + U2(I) * V2(J)
   10   CONTINUE
   20 CONTINUE
      DO 40 I = 1, N
        DO 30 J = 1, N
          X(I) = X(I) + BETA * A(I, J) * Y(J)
   30   CONTINUE
   40 CONTINUE
      DO 50 I = 1, N
   50 X(I) = X(I) + Z(I)
      DO 60 I = 1, N
      DO 60 J = 1, N
        W(I) = W(I) + ALPHA * A(J, I)
C       a comment between the lines
     $              * X(J)
   60 CONTINUE
      END
