// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/measured_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::DoubleEq;

TEST(MeasuredLineTest, LineIsLinearBetweenAndBeyondPoints) {
  MeasuredLine line;
  EXPECT_EQ(line.At(8), 0);
  line.Add(16, 2);
  EXPECT_THAT(line.At(32), DoubleEq(4));
  line.Add(64, 5);
  line.Add(16, 4);
  EXPECT_THAT(line.At(16), DoubleEq(3));
  EXPECT_THAT(line.At(40), DoubleEq(4));
  EXPECT_THAT(line.At(112), DoubleEq(7));
  // Sizes below the first point are on the extension of the first segment.
  EXPECT_THAT(line.At(4), DoubleEq(2.5));
}

TEST(MeasuredLineTest, NoiseMakesNoSizeFree) {
  MeasuredLine steep;
  steep.Add(16, 1);
  steep.Add(32, 4);
  // The extended segment would be negative here.
  EXPECT_THAT(steep.At(4), DoubleEq(0.25));
  MeasuredLine falling;
  falling.Add(16, 2);
  falling.Add(32, 1);
  EXPECT_THAT(falling.At(64), DoubleEq(1));
  EXPECT_THAT(falling.At(8), DoubleEq(2));
}

TEST(MeasuredLineTest, ConstantLinesAreMeans) {
  MeasuredLine line(/*grows=*/false);
  line.Add(16, 1);
  line.Add(64, 2);
  EXPECT_THAT(line.At(1), DoubleEq(1.5));
  EXPECT_THAT(line.At(1000), DoubleEq(1.5));
}

TEST(MeasuredLineTest, SinglePointsTakeTheShapeOfAnotherLine) {
  MeasuredLine other;
  other.Add(16, 2);
  other.Add(64, 5);
  MeasuredLine line;
  line.Add(64, 10);
  line.TakeShapeOf(other);
  EXPECT_THAT(line.At(64), DoubleEq(10));
  EXPECT_THAT(line.At(16), DoubleEq(4));
  EXPECT_THAT(line.At(112), DoubleEq(16));
  MeasuredLine between;
  between.Add(32, 6);
  between.TakeShapeOf(other);
  EXPECT_THAT(between.At(16), DoubleEq(4));
  // `between` keeps the shape that it has now.
  other.Add(128, 1000);
  between.TakeShapeOf(other);
  EXPECT_THAT(between.At(64), DoubleEq(10));
}

TEST(MeasuredLineTest, NoiseOfAnotherLineMakesNoSizeFree) {
  MeasuredLine other;
  other.Add(16, 1);
  other.Add(32, 40);
  other.Add(64, 20);
  MeasuredLine line;
  line.Add(32, 4);
  line.TakeShapeOf(other);
  EXPECT_THAT(line.At(16), DoubleEq(2));
  EXPECT_THAT(line.At(64), DoubleEq(4));
}

TEST(MeasuredLineTest, LinesWithoutAShapeGiveNone) {
  MeasuredLine one;
  one.Add(16, 1);
  MeasuredLine free;
  free.Add(16, 0);
  free.Add(64, 0);
  MeasuredLine line;
  for (const MeasuredLine& other : {MeasuredLine(), one, free}) {
    line.TakeShapeOf(other);
    EXPECT_TRUE(line.empty());
  }
  line.Add(64, 4);
  for (const MeasuredLine& other : {MeasuredLine(), one, free}) {
    line.TakeShapeOf(other);
    EXPECT_THAT(line.At(16), DoubleEq(1));
  }
}

}  // namespace
}  // namespace gandem
