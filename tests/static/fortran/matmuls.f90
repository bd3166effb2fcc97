! SPDX-License-Identifier: Apache-2.0
! Products of matrices and vectors.
subroutine matmuls(n, m, l, a, b, c, x, y, z)
  implicit none
  integer, intent(in) :: n, m, l
  double precision :: a(n, m), b(m, l), c(n, l), x(m), y(n), z(l)
  c = matmul(a, b)
  y = matmul(a, x)
  z = matmul(x, b)
end subroutine matmuls
