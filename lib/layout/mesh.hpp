/// Ranks as points of a mesh with the axes tensor, data and pipeline; context is a part of data.
#pragma once

#include <vector>

#include "base/enum_array.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Maps ranks to coordinates. Pure arithmetic: it creates no communicator.
///
/// Consecutive coordinates of the data axis are the context ranks of the same sequences. So the groups of
/// Axis::context are parts of those of Axis::data. The tensor ranks of a grid are numbered row by row:
/// Axis::tensor is the position within a row, Axis::tensor_row the row.
class Mesh {
  public:
    /// \pre tensor_ranks * data * stages is parallel.ranks; order names each axis once
    /// \pre context divides data
    explicit Mesh(const spec::Parallel& parallel);

    int ranks() const noexcept { return ranks_; }
    int degree(spec::Axis axis) const;
    /// Returns the coordinate of a world rank along `axis`.
    int coordinate(spec::Axis axis, int rank) const;
    /// Returns the world ranks that differ from `rank` only along `axis`, by ascending coordinate.
    std::vector<int> group(spec::Axis axis, int rank) const;
    /// Returns the world rank at `coordinate` of `axis` in that group.
    int neighbour(spec::Axis axis, int rank, int coordinate) const;

  private:
    int ranks_;
    EnumArray<spec::Axis, int, 5> degrees_{};
    EnumArray<spec::Axis, int, 5> strides_{};
};

}  // namespace ziggurat::layout
