! SPDX-License-Identifier: Apache-2.0
! durbin: a Toeplitz system, by Durbin. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_durbin(n, r, y, z)
  implicit none
  integer, intent(in) :: n
  double precision, intent(in) :: r(n)
  double precision, intent(inout) :: y(n), z(n)
  double precision :: alpha, beta, total
  integer :: i, k

  y(1) = -r(1)
  beta = 1.0d0
  alpha = -r(1)
  do k = 2, n
    beta = (1.0d0 - alpha * alpha) * beta
    total = 0.0d0
    do i = 1, k - 1
      total = total + r(k - i) * y(i)
    end do
    alpha = -(r(k) + total) / beta
    do i = 1, k - 1
      z(i) = y(i) + alpha * y(k - i)
    end do
    do i = 1, k - 1
      y(i) = z(i)
    end do
    y(k) = alpha
  end do
end subroutine kernel_durbin
