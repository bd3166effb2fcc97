! SPDX-License-Identifier: Apache-2.0
! covariance: covariance of m variables in n observations. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_covariance(m, n, float_n, data, cov, mean)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: float_n
  double precision, intent(inout) :: data(m, n)
  double precision, intent(out) :: cov(m, m), mean(m)
  integer :: i, j, k

  do j = 1, m
    mean(j) = 0.0d0
    do i = 1, n
      mean(j) = mean(j) + data(j, i)
    end do
    mean(j) = mean(j) / float_n
  end do
  do i = 1, n
    do j = 1, m
      data(j, i) = data(j, i) - mean(j)
    end do
  end do
  do i = 1, m
    do j = i, m
      cov(j, i) = 0.0d0
      do k = 1, n
        cov(j, i) = cov(j, i) + data(i, k) * data(j, k)
      end do
      cov(j, i) = cov(j, i) / (float_n - 1.0d0)
      cov(i, j) = cov(j, i)
    end do
  end do
end subroutine kernel_covariance
