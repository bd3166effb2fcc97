! SPDX-License-Identifier: Apache-2.0
! Prints the accesses of shapes.f90 for n = 9, m = 4, with gfortran's addresses: its types are repeated here.
program prints
  use iso_fortran_env, only: real64, real32
  implicit none
  type point
    real(real64) :: x, y
    integer(4) :: kind
    real(real32) :: weight(2)
  end type point
  type box
    real(real64) :: low(3), high(0:2, 2)
  end type box
  type pair
    integer(4) :: left, right
  end type pair
  type mixed
    integer(4) :: count
    type(pair) :: inner
    real(real64) :: values(3)
    type(pair) :: pairs(2)
    character(3) :: names(2)
    integer(2) :: short
  end type mixed
  integer, parameter :: n = 9, m = 4
  type(point) :: points(n)
  type(box) :: boxes(n)
  complex(real64) :: z(m:n)
  integer(8) :: k(n)
  type(mixed) :: all(n)
  real(real64) :: work(0:n, 3)
  integer :: i, j
  do i = 1, n
    call touch('load', 'points', loc(points(i)%y) - loc(points), 8)
    call touch('load', 'points', loc(points(i)%weight(2)) - loc(points), 4)
    call touch('store', 'points', loc(points(i)%x) - loc(points), 8)
    call touch('store', 'points', loc(points(i)%kind) - loc(points), 4)
    do j = 1, 3
      call touch('load', 'boxes', loc(boxes(i)%high(j - 1, 2)) - loc(boxes), 8)
      call touch('store', 'boxes', loc(boxes(i)%low(j)) - loc(boxes), 8)
      call touch('load', 'boxes', loc(boxes(i)%low(1)) - loc(boxes), 8)
      call touch('store', 'work', loc(work(i - 1, j)) - loc(work), 8)
    end do
    call touch('load', 'k', loc(k(i)) - loc(k), 8)
    call touch('store', 'k', loc(k(i)) - loc(k), 8)
  end do
  do i = m, n
    call touch('load', 'z', loc(z(i)) - loc(z), 16)
    call touch('store', 'z', loc(z(i)) - loc(z), 16)
  end do
  do i = 2, n
    call touch('load', 'all', loc(all(i - 1)%inner%left) - loc(all), 4)
    call touch('store', 'all', loc(all(i)%inner%right) - loc(all), 4)
    do j = 1, 3
      call touch('load', 'all', loc(all(i)%values(3)) - loc(all), 8)
      call touch('store', 'all', loc(all(i)%values(j)) - loc(all), 8)
    end do
    call touch('load', 'all', loc(all(i)%pairs(1)%left) - loc(all), 4)
    call touch('store', 'all', loc(all(i)%pairs(mod(i, 2) + 1)%right) - loc(all), 4)
    call touch('load', 'all', loc(all(i - 1)%names(2)) - loc(all), 3)
    call touch('store', 'all', loc(all(i)%names(mod(i, 2) + 1)) - loc(all), 3)
    call touch('store', 'all', loc(all(i)%short) - loc(all), 2)
  end do
contains
  subroutine touch(what, name, offset, bytes)
    character(*) :: what, name
    integer(8) :: offset
    integer :: bytes
    write (*, '(a,1x,a,1x,i0,1x,i0)') what, name, offset, bytes
  end subroutine touch
end program prints
