! SPDX-License-Identifier: Apache-2.0
! sums a 200 x 200 matrix of doubles by rows, against the grain of Fortran's storage: 40000 loads
program column_sum
  implicit none
  real(8) :: a(200, 200), s
  integer :: n
  n = 200
  a = 1.0d0
  call add_up(a, n, s)
  if (s /= 40000.0d0) stop 1
contains
  subroutine add_up(m, n, total)
    integer, intent(in) :: n
    real(8), intent(in) :: m(n, n)
    real(8), intent(out) :: total
    integer :: i, j
    real(8) :: t
    t = 0
    do i = 1, n
       do j = 1, n
          t = t + m(i, j)
       end do
    end do
    total = t
  end subroutine add_up
end program column_sum
