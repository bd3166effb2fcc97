! SPDX-License-Identifier: Apache-2.0
! correlation: correlation of m variables in n observations. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_correlation(m, n, float_n, data, corr, mean, stddev)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: float_n
  double precision, intent(inout) :: data(m, n)
  double precision, intent(out) :: corr(m, m), mean(m), stddev(m)
  double precision, parameter :: eps = 0.1d0
  integer :: i, j, k

  do j = 1, m
    mean(j) = 0.0d0
    do i = 1, n
      mean(j) = mean(j) + data(j, i)
    end do
    mean(j) = mean(j) / float_n
  end do
  do j = 1, m
    stddev(j) = 0.0d0
    do i = 1, n
      stddev(j) = stddev(j) + (data(j, i) - mean(j)) * (data(j, i) - mean(j))
    end do
    stddev(j) = stddev(j) / float_n
    stddev(j) = sqrt(stddev(j))
    stddev(j) = merge(1.0d0, stddev(j), stddev(j) <= eps)
  end do
  do i = 1, n
    do j = 1, m
      data(j, i) = data(j, i) - mean(j)
      data(j, i) = data(j, i) / (sqrt(float_n) * stddev(j))
    end do
  end do
  do i = 1, m - 1
    corr(i, i) = 1.0d0
    do j = i + 1, m
      corr(j, i) = 0.0d0
      do k = 1, n
        corr(j, i) = corr(j, i) + data(i, k) * data(j, k)
      end do
      corr(i, j) = corr(j, i)
    end do
  end do
  corr(m, m) = 1.0d0
end subroutine kernel_correlation
