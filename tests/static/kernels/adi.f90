! SPDX-License-Identifier: Apache-2.0
! adi: alternating directions, implicit. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_adi(tsteps, n, u, v, p, q)
  implicit none
  integer, intent(in) :: tsteps, n
  double precision, intent(inout) :: u(n, n), v(n, n), p(n, n), q(n, n)
  integer :: t, i, j
  double precision :: dx, dy, dt, b1, b2, mul1, mul2, a, b, c, d, e, f

  dx = 1.0d0 / dble(n)
  dy = 1.0d0 / dble(n)
  dt = 1.0d0 / dble(tsteps)
  b1 = 2.0d0
  b2 = 1.0d0
  mul1 = b1 * dt / (dx * dx)
  mul2 = b2 * dt / (dy * dy)
  a = -mul1 / 2.0d0
  b = 1.0d0 + mul1
  c = a
  d = -mul2 / 2.0d0
  e = 1.0d0 + mul2
  f = d
  do t = 1, tsteps
    ! columns
    do i = 2, n - 1
      v(i, 1) = 1.0d0
      p(1, i) = 0.0d0
      q(1, i) = v(i, 1)
      do j = 2, n - 1
        p(j, i) = -c / (a * p(j - 1, i) + b)
        q(j, i) = (-d * u(i - 1, j) + (1.0d0 + 2.0d0 * d) * u(i, j) - f * u(i + 1, j) - a * q(j - 1, i)) &
                  / (a * p(j - 1, i) + b)
      end do
      v(i, n) = 1.0d0
      do j = n - 1, 2, -1
        v(i, j) = p(j, i) * v(i, j + 1) + q(j, i)
      end do
    end do
    ! rows
    do i = 2, n - 1
      u(1, i) = 1.0d0
      p(1, i) = 0.0d0
      q(1, i) = u(1, i)
      do j = 2, n - 1
        p(j, i) = -f / (d * p(j - 1, i) + e)
        q(j, i) = (-a * v(j, i - 1) + (1.0d0 + 2.0d0 * a) * v(j, i) - c * v(j, i + 1) - d * q(j - 1, i)) &
                  / (d * p(j - 1, i) + e)
      end do
      u(n, i) = 1.0d0
      do j = n - 1, 2, -1
        u(j, i) = p(j, i) * u(j + 1, i) + q(j, i)
      end do
    end do
  end do
end subroutine kernel_adi
