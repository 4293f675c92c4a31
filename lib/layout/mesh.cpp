#include "layout/mesh.hpp"

#include "base/contract.hpp"

namespace ziggurat::layout {

Mesh::Mesh(const spec::Parallel& parallel) : ranks_{parallel.ranks} {
    degrees_[spec::Axis::tensor] = parallel.tensor;
    degrees_[spec::Axis::context] = parallel.context;
    degrees_[spec::Axis::data] = parallel.data;
    degrees_[spec::Axis::pipeline] = parallel.stages;
    degrees_[spec::Axis::tensor_row] = parallel.tensor_rows;
    int stride = 1;
    ZG_EXPECTS(parallel.order.size() == 4);
    ZG_EXPECTS(parallel.data % parallel.context == 0);
    for (const auto axis : parallel.order) {
        ZG_EXPECTS(strides_[axis] == 0);
        strides_[axis] = stride;
        stride *= axis == spec::Axis::context  ? 1
                  : axis == spec::Axis::tensor ? parallel.tensor_ranks()
                                               : degrees_[axis];
    }
    strides_[spec::Axis::context] = strides_[spec::Axis::data];
    strides_[spec::Axis::tensor_row] = strides_[spec::Axis::tensor] * parallel.tensor;
    ZG_EXPECTS(stride == ranks_);
}

int Mesh::degree(spec::Axis axis) const {
    return degrees_[axis];
}

int Mesh::coordinate(spec::Axis axis, int rank) const {
    ZG_EXPECTS(0 <= rank && rank < ranks_);
    return rank / strides_[axis] % degrees_[axis];
}

int Mesh::neighbour(spec::Axis axis, int rank, int coordinate_wanted) const {
    ZG_EXPECTS(0 <= coordinate_wanted && coordinate_wanted < degree(axis));
    return rank + (coordinate_wanted - coordinate(axis, rank)) * strides_[axis];
}

std::vector<int> Mesh::group(spec::Axis axis, int rank) const {
    std::vector<int> members;
    for (int c = 0; c < degree(axis); ++c) {
        members.push_back(neighbour(axis, rank, c));
    }
    return members;
}

}  // namespace ziggurat::layout
