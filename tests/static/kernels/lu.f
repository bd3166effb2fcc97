* SPDX-License-Identifier: Apache-2.0
* lu: A = L U, in place, in fixed form.
      SUBROUTINE KERNEL_LU(N, A)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION A(N, N)
      DO 50 I = 1, N
        DO 20 J = 1, I - 1
          DO 10 K = 1, J - 1
            A(J, I) = A(J, I) - A(K, I) * A(J, K)
   10     CONTINUE
          A(J, I) = A(J, I) / A(J, J)
   20   CONTINUE
        DO 40 J = I, N
          DO 30 K = 1, I - 1
            A(J, I) = A(J, I) - A(K, I) * A(J, K)
   30     CONTINUE
   40   CONTINUE
   50 CONTINUE
      RETURN
      END
