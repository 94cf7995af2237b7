// Where frames lie: inside each other, none lost, no more than a browser can draw.
#include "report/flame_layout.h"

#include <gtest/gtest.h>

#include <string>

namespace cprof {
namespace {

constexpr uint64_t kWidth = 1000 * kCentipixels;

FoldTree Wide(uint32_t children, uint32_t grandchildren) {
  FoldTree tree;
  for (uint32_t i = 0; i < children; ++i) {
    const auto child = tree.Child(FoldTree::kRoot, FrameKind::kRequest, "c" + std::to_string(i));
    for (uint32_t k = 0; k < grandchildren; ++k) {
      tree.Add(tree.Child(child, FrameKind::kUser, "g" + std::to_string(k)), 1 + (i + k) % 7);
    }
    tree.Add(child, 3);
  }
  return tree;
}

// Each box lies in one of the row before, and in a row none over another.
void ExpectNested(const FlatFlame& flame, const std::vector<FlameBox>& boxes) {
  ASSERT_FALSE(boxes.empty());
  EXPECT_EQ(boxes[0].first, 0U);
  EXPECT_EQ(boxes[0].width, kWidth);
  for (size_t i = 1; i < boxes.size(); ++i) {
    const FlameBox& box = boxes[i];
    size_t around = 0;
    for (size_t k = 0; k < i; ++k) {
      const FlameBox& other = boxes[k];
      const bool is_parent = other.depth + 1 == box.depth && !other.merged &&
                             other.first < box.first && box.end <= other.end;
      if (!is_parent) continue;
      ++around;
      EXPECT_GE(box.left, other.left);
      EXPECT_LE(box.left + box.width, other.left + other.width);
    }
    EXPECT_EQ(around, 1U) << flame.names[flame.frames[box.first].name];
    const FlameBox& before = boxes[i - 1];
    if (before.depth == box.depth) {
      // What is too narrow for a box of its own has one all the same, over its neighbours.
      const uint64_t over = box.merged || before.merged ? kCentipixels : 0;
      EXPECT_LE(before.left + before.width, box.left + over);
      EXPECT_LE(before.end, box.first);
    }
  }
}

// How many frames the boxes of whose parents are drawn stand for.
size_t Covered(const std::vector<FlameBox>& boxes) {
  size_t covered = 0;
  for (const FlameBox& box : boxes) covered += box.merged ? box.end - box.first : 1;
  return covered;
}

TEST(FlameLayout, WideFramesAreDrawnEach) {
  const FlatFlame flame = Flatten(Wide(10, 5));
  EXPECT_EQ(flame.frames.size(), 61U);
  const std::vector<FlameBox> boxes = LayOut(flame, kWidth, 50);
  EXPECT_EQ(boxes.size(), 61U);
  ExpectNested(flame, boxes);
}

TEST(FlameLayout, NarrowNeighboursShareABoxAndNoneIsLost) {
  const FlatFlame flame = Flatten(Wide(40, 300));
  const std::vector<FlameBox> boxes = LayOut(flame, kWidth, 50);
  ExpectNested(flame, boxes);
  EXPECT_LT(boxes.size(), 1000U);
  EXPECT_EQ(Covered(boxes), flame.frames.size());
}

TEST(FlameLayout, OneThatIsFarTooNarrowStillHasABox) {
  FoldTree tree;
  tree.Add(tree.Child(FoldTree::kRoot, FrameKind::kRequest, "large"), 1'000'000'000);
  tree.Add(tree.Child(FoldTree::kRoot, FrameKind::kRequest, "tiny"), 1);
  const FlatFlame flame = Flatten(tree);
  const std::vector<FlameBox> boxes = LayOut(flame, kWidth, 50);
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_TRUE(boxes[2].merged);
  EXPECT_EQ(boxes[2].width, kCentipixels);
  EXPECT_EQ(boxes[2].left + boxes[2].width, kWidth);
  EXPECT_EQ(boxes[2].weight.amount, 1U);
}

TEST(FlameLayout, NeverMoreThanABrowserDraws) {
  FoldTree tree;
  for (uint32_t i = 0; i < 1000; ++i) {
    FoldTree::NodeIndex node = FoldTree::kRoot;
    for (uint32_t depth = 0; depth < 40; ++depth) {
      node = tree.Child(node, FrameKind::kUser, std::to_string(i));
    }
    tree.Add(node, 1 + i % 3);
  }
  const FlatFlame flame = Flatten(tree);
  ASSERT_EQ(flame.frames.size(), 40'001U);
  const std::vector<FlameBox> boxes = LayOut(flame, kWidth, 1);
  EXPECT_LE(boxes.size(), kMaxFlameBoxes);
  EXPECT_GT(boxes.size(), 100U);
  EXPECT_EQ(boxes[0].width, kWidth);
}

TEST(FlameLayout, WhatWeighsNothingIsLeftOutUnlessItDidBefore) {
  FoldTree tree, before;
  tree.Child(FoldTree::kRoot, FrameKind::kUser, "nothing");
  tree.Add(tree.Child(FoldTree::kRoot, FrameKind::kUser, "now"), 5);
  before.Add(before.Child(FoldTree::kRoot, FrameKind::kUser, "gone"), 7);
  tree.AddBefore(before);
  const FlatFlame flame = Flatten(tree);
  ASSERT_EQ(flame.frames.size(), 3U);
  EXPECT_EQ(flame.names[flame.frames[1].name], "gone");
  EXPECT_EQ(flame.frames[1].total, (FoldWeight{0, 0, 0, 7}));
  EXPECT_EQ(flame.frames[0].total, (FoldWeight{5, 0, 0, 7}));
  // It has no width now.
  EXPECT_EQ(LayOut(flame, kWidth, 50).size(), 2U);
}

TEST(FlameLayout, EmptyTreeIsItsRoot) {
  const FlatFlame flame = Flatten(FoldTree());
  ASSERT_EQ(flame.frames.size(), 1U);
  EXPECT_EQ(LayOut(flame, kWidth, 50).size(), 1U);
}

}  // namespace
}  // namespace cprof
