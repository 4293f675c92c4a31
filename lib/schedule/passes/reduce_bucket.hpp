/// Ops that reduce one bucket of gradients; only reduce_*.cpp includes this file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Elements of a unit's trained region whose gradient is complete at one time: all, or a range of a
/// segment.
struct BucketPart {
    UnitId unit = -1;
    layout::ElementRange range;
    BufferId buffer = -1;    ///< holds their gradient
    bool ends_unit = false;  ///< no other part of the unit follows in this step
};

/// Gradients that are reduced together.
struct Bucket {
    std::vector<BucketPart> parts;
    int after_op = -1;
    int microbatch = -1;     ///< -1: the whole step
    bool is_first = false;   ///< no gradient has been accumulated in this step
    bool is_last = false;    ///< no gradient is added to these later in the step
    bool is_alone = false;   ///< a segment, which is reduced without others
    bool is_shared = false;  ///< a tied table; another stage has the other part of the gradient
};

/// Ops that reduce a bucket, by the time at which they are listed. The times keep stalls of the compute
/// lane short.
struct Reduction {
    std::vector<Op> now;
    std::vector<Op> later;   ///< with the next bucket: begins with sums of the results of `now`
    std::vector<Op> at_end;  ///< after everything is sent that other stages wait for
    std::vector<Op> norms;   ///< after everything else
};

/// Returns the number of data ranks over which gradients are summed before they accumulate over
/// micro-batches.
int first_span(const spec::RunSpec& spec, const ModelLayout& model);

class BucketWriter {
  public:
    BucketWriter(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

    Reduction reduce(const Bucket& bucket) const;

  private:
    const layout::ShardMap& shards(UnitId unit) const { return model_.shards[unit]; }
    /// True if gradients accumulate in a type that is narrower than the type in which they are computed.
    bool is_narrow() const { return spec_.precision.gradient != spec::DType::f32; }
    int accumulator(UnitId unit) const { return draft_.state.units[unit][StateKind::gradients]; }
    ByteRange run_in(BufferId buffer, layout::ElementRange range) const;
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
    /// Returns the op that adds squares of a unit's gradient; nothing if this rank counts none of them.
    std::optional<Op> norm(UnitId u) const;
    /// Appends the norms of the units that the bucket ends, and with updates in backward the ops that need
    /// them.
    void norms(std::vector<Op>& out, const Bucket& bucket) const;

    ProgramBuilder& draft_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
};

}  // namespace ziggurat::schedule
