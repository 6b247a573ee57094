// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/symmetric_eigen.h"

#include <cmath>

#include "common/check.h"

namespace gandem {
namespace {

constexpr int kMaxSweeps = 60;  // ten are enough; convergence is quadratic

struct Rotation {
  double c;
  double s;
};

// The rotation of rows p, q that makes element (p, q) zero.
Rotation ZeroingRotation(const SquareMatrix& m, int64_t p, int64_t q) {
  const double tau = (m.at(q, q) - m.at(p, p)) / (2.0 * m.at(p, q));
  // The smaller root; hypot because tau may be huge.
  const double t =
      std::copysign(1.0, tau) / (std::abs(tau) + std::hypot(1.0, tau));
  const double c = 1.0 / std::hypot(1.0, t);
  return {.c = c, .s = t * c};
}

void Rotate(double& x, double& y, Rotation rotation) {
  const double old_x = x;
  x = rotation.c * old_x - rotation.s * y;
  y = rotation.s * old_x + rotation.c * y;
}

void RotateRows(SquareMatrix& m, int64_t p, int64_t q, Rotation rotation) {
  for (int64_t k = 0; k < m.size; ++k) Rotate(m.at(p, k), m.at(q, k), rotation);
}

void RotateColumns(SquareMatrix& m, int64_t p, int64_t q, Rotation rotation) {
  for (int64_t k = 0; k < m.size; ++k) Rotate(m.at(k, p), m.at(k, q), rotation);
}

// Off the diagonal it shrinks with every sweep and says when to stop.
double SquaredNorm(const SquareMatrix& m, bool off_diagonal) {
  double sum = 0;
  for (int64_t i = 0; i < m.size; ++i) {
    for (int64_t j = 0; j < m.size; ++j) {
      if (i != j || !off_diagonal) sum += m.at(i, j) * m.at(i, j);
    }
  }
  return sum;
}

}  // namespace

EigenDecomposition SymmetricEigen(SquareMatrix matrix) {
  const int64_t n = matrix.size;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) matrix.at(i, j) = matrix.at(j, i);
  }
  // Its rows turn into the eigenvectors: rows are what memory likes.
  SquareMatrix transposed(n);
  for (int64_t i = 0; i < n; ++i) transposed.at(i, i) = 1.0;
  const double enough = 1e-30 * SquaredNorm(matrix, /*off_diagonal=*/false);
  int sweep = 0;
  while (SquaredNorm(matrix, /*off_diagonal=*/true) > enough) {
    GANDEM_CHECK(++sweep <= kMaxSweeps);
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (matrix.at(p, q) == 0.0) continue;
        const Rotation rotation = ZeroingRotation(matrix, p, q);
        RotateRows(matrix, p, q, rotation);
        RotateColumns(matrix, p, q, rotation);
        RotateRows(transposed, p, q, rotation);
      }
    }
  }
  EigenDecomposition result = {.values = {}, .vectors = SquareMatrix(n)};
  for (int64_t i = 0; i < n; ++i) {
    result.values.push_back(matrix.at(i, i));
    for (int64_t j = 0; j < n; ++j) {
      result.vectors.at(j, i) = transposed.at(i, j);
    }
  }
  return result;
}

}  // namespace gandem
