* SPDX-License-Identifier: Apache-2.0
* trisolv: L x = b, in fixed form.
      SUBROUTINE KERNEL_TRISOLV(N, L, X, B)
      INTEGER N, I, J
      DOUBLE PRECISION L(N, N), X(N), B(N)
      DO20I=1,N
      X(I) = B(I)
      DO 10 J = 1, I - 1
   10 X(I) = X(I) - L(J, I) * X(J)
   20 X(I) = X(I) / L(I, I)
      END
