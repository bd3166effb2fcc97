! SPDX-License-Identifier: Apache-2.0
! Derived types, allocatable arrays, kinds, common blocks, lower bounds that are variables.
module types
  use iso_fortran_env, only: real64, wp => real32
  implicit none
  integer, parameter :: long = selected_int_kind(12), many = 3
  type point
    real(real64) :: x, y
    integer(4) :: kind
    real(wp) :: weight(2)
  end type point
  type box
    real(real64) :: low(many), high(0:many - 1, 2)
  end type box
end module types

subroutine shapes(n, m, points, boxes, z, k)
  use types
  implicit none
  integer, intent(in) :: n, m
  type(point), intent(inout) :: points(n)
  type(box), intent(inout) :: boxes(n)
  complex(real64), intent(inout) :: z(m:n)
  integer(long), intent(inout) :: k(n)
  real(real64), allocatable :: work(:, :)
  integer :: i, j
  allocate(work(0:n, many))
  do i = 1, n
    points(i)%x = points(i)%y * points(i)%weight(2)
    points(i)%kind = 1
    do j = 1, many
      boxes(i)%low(j) = boxes(i)%high(j - 1, 2)
      work(i - 1, j) = boxes(i)%low(1)
    end do
    k(i) = k(i) + 1_long
  end do
  do i = m, n
    z(i) = z(i) * (1.0d0, 2.0d0)
  end do
  deallocate(work)
end subroutine shapes
