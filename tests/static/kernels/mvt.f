* SPDX-License-Identifier: Apache-2.0
* mvt: x1 := x1 + A y1, x2 := x2 + transpose(A) y2, in fixed form.
      SUBROUTINE KERNEL_MVT(N, X1, X2, Y1, Y2, A)
      IMPLICIT NONE
      INTEGER N, I, J
      REAL*8 X1(N), X2(N), Y1(N), Y2(N), A(N, N)
      DO I = 1, N
        DO J = 1, N
          X1(I) = X1(I) + A(J, I) * Y1(J)
        END DO
      ENDDO
      DO I = 1, N
        DO J = 1, N
          X2(I) = X2(I) + A(I, J) * Y2(J)
        ENDDO
      END DO
      END
