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
  type pair
    integer(4) :: left, right
  end type pair
  type mixed ! parts of several sizes; a type inside that is aligned to 4 bytes
    integer(4) :: count
    type(pair) :: inner
    real(real64) :: values(many)
    type(pair) :: pairs(2)
    character(3) :: names(2)
    integer(2) :: short
  end type mixed
end module types

subroutine shapes(n, m, points, boxes, z, k, all)
  use types
  implicit none
  integer, intent(in) :: n, m
  type(point), intent(inout) :: points(n)
  type(box), intent(inout) :: boxes(n)
  complex(real64), intent(inout) :: z(m:n)
  integer(long), intent(inout) :: k(n)
  type(mixed), intent(inout) :: all(n)
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
  do i = 2, n
    all(i)%inner%right = all(i - 1)%inner%left
    do j = 1, many
      all(i)%values(j) = all(i)%values(many)
    end do
    all(i)%pairs(mod(i, 2) + 1)%right = all(i)%pairs(1)%left
    all(i)%names(mod(i, 2) + 1) = all(i - 1)%names(2)
    all(i)%short = 1_2
  end do
  deallocate(work)
end subroutine shapes
