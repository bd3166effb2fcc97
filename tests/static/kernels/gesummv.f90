! SPDX-License-Identifier: Apache-2.0
! gesummv: y := alpha A x + beta B x. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_gesummv(n, alpha, beta, a, b, tmp, x, y)
  implicit none
  integer, intent(in) :: n
  double precision, intent(in) :: alpha, beta
  double precision, intent(in) :: a(n, n), b(n, n), x(n)
  double precision, intent(out) :: tmp(n), y(n)
  integer :: i, j

  do i = 1, n
    tmp(i) = 0.0d0
    y(i) = 0.0d0
    do j = 1, n
      tmp(i) = a(j, i) * x(j) + tmp(i)
      y(i) = b(j, i) * x(j) + y(i)
    end do
    y(i) = alpha * tmp(i) + beta * y(i)
  end do
end subroutine kernel_gesummv
