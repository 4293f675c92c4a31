/// The ops that reduce one bucket of gradients; only reduce_*.cpp includes it.
#pragma once

#include <string>
#include <vector>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Elements of a unit's trained region whose gradient is complete at one time: all, or a run of a segment.
struct BucketPart {
    int unit = -1;
    layout::ElementRange range;
    int buffer = -1;         ///< where their gradient is
    bool ends_unit = false;  ///< nothing of the unit is to come in this step
};

/// Gradients that travel together.
struct Bucket {
    std::vector<BucketPart> parts;
    int after_op = -1;
    int microbatch = -1;     ///< -1: of the whole step
    bool is_first = false;   ///< nothing has been added up in this step
    bool is_last = false;    ///< nothing is added to these gradients later in the step
    bool is_alone = false;   ///< a segment, which waits for no other
    bool is_shared = false;  ///< a tied table, of which another stage has the other half of the gradient
};

/// What is to be done with a bucket, and when, so that the compute lane waits as little as may be.
struct Reduction {
    std::vector<Op> now;
    std::vector<Op> later;   ///< with the next bucket: begins with sums of what `now` has moved
    std::vector<Op> at_end;  ///< when all is sent for which other stages wait
    std::vector<Op> norms;   ///< behind everything
};

/// Over how many data ranks gradients are summed before they are added up over micro-batches.
int first_span(const spec::RunSpec& spec, const ModelLayout& model);

class BucketWriter {
  public:
    BucketWriter(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

    Reduction reduce(const Bucket& bucket) const;

  private:
    const layout::ShardMap& shards(int unit) const { return model_.shards[static_cast<std::size_t>(unit)]; }
    /// Gradients are added up in a type narrower than that in which they are computed.
    bool is_narrow() const { return spec_.precision.gradient != spec::DType::f32; }
    int accumulator(int unit) const {
        return draft_.state.units[static_cast<std::size_t>(unit)][StateKind::gradients];
    }
    ByteRun run_in(int buffer, layout::ElementRange range) const;
    layout::ElementRange part_of_shard(const BucketPart& part, int span, int rank) const;
    std::vector<int> named_members(int inner, int span) const;
    Op collective(OpKind kind, int group, const Bucket& bucket) const;
    Op data_collective(OpKind kind, int inner, int span, const Bucket& bucket) const;
    void scatter(std::vector<Op>& out, const Bucket& bucket, bool of_microbatch, int inner, int span) const;
    void add_up(std::vector<Op>& out, const Bucket& bucket) const;
    void sum_other_axes(std::vector<Op>& out, const Bucket& bucket) const;
    void sum_ranges(std::vector<Op>& out,
                    const Bucket& bucket,
                    const char* name,
                    const std::vector<int>& members,
                    const std::vector<Operand>& ranges) const;
    void gather(std::vector<Op>& out, const Bucket& bucket) const;
    void norms(std::vector<Op>& out, const Bucket& bucket) const;

    Draft& draft_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
};

}  // namespace ziggurat::schedule
