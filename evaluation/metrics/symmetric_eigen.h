// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues and eigenvectors of a symmetric matrix by the cyclic Jacobi
// method (Golub and Van Loan, Matrix Computations, 4th edition, section 8.5).
// For a few hundred rows at most: one sweep takes about 6 n^3 operations, and
// about ten sweeps are needed.
//
// Thread safety: pure functions, all in double, the same bits every time.
#pragma once

#include <cstdint>
#include <vector>

namespace gandem {

// A square matrix, row by row.
struct SquareMatrix {
  explicit SquareMatrix(int64_t rows) : size(rows), values(rows * rows) {}

  double& at(int64_t i, int64_t j) { return values[i * size + j]; }
  double at(int64_t i, int64_t j) const { return values[i * size + j]; }

  int64_t size;
  std::vector<double> values;
};

struct EigenDecomposition {
  std::vector<double> values;  // in no particular order
  SquareMatrix vectors;        // column k belongs to values[k]
};

// Reads the upper triangle of `matrix`, which must be finite.
EigenDecomposition SymmetricEigen(SquareMatrix matrix);

}  // namespace gandem
