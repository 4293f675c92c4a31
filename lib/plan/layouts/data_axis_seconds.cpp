#include "plan/layouts/data_axis_seconds.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "layout/mesh.hpp"
#include "layout/shard_map.hpp"
#include "plan/cost/collective_cost.hpp"

namespace ziggurat::plan {
namespace {

using schedule::OpKind;

constexpr std::int64_t micro_batch_gradient_bytes = 4;

/// Seconds of collectives by group. A group is that of rank 0 in layout::data_group.
class GroupSeconds {
  public:
    GroupSeconds(const spec::RunSpec& run, double parameters, const Rates& rates)
        : parameters_{parameters},
          rates_{rates},
          data_{layout::Mesh{run.parallel}.group(spec::Axis::data, 0)} {}

    /// Adds `times` collectives over the ranks that divide a shard of `inner` ranks into those of `span`.
    void add(OpKind kind, int inner, int span, std::int64_t element_bytes, double times) {
        if (inner == span) {
            return;
        }
        const auto bytes = static_cast<std::int64_t>(parameters_ / inner) * element_bytes;
        of_group_[{inner, span}] += times * collective_seconds(kind, bytes, shape_of(inner, span), rates_);
    }

    /// Returns the seconds of the group with the most.
    double max() const {
        double seconds = 0;
        for (const auto& [group, of_group] : of_group_) {
            seconds = std::max(seconds, of_group);
        }
        return seconds;
    }

  private:
    GroupShape shape_of(int inner, int span) const {
        schedule::Group group{"data", {}, 0};
        for (const int member : layout::data_group(0, inner, span)) {
            group.members.push_back(data_[static_cast<std::size_t>(member)]);
        }
        return group_shape(group, rates_.ranks_per_node);
    }

    double parameters_;
    const Rates& rates_;
    std::vector<int> data_;  ///< world ranks of the data group of rank 0
    std::map<std::pair<int, int>, double> of_group_;
};

/// Returns the ranks over which the gradients of a micro-batch are summed.
int first_span(const spec::RunSpec& run) {
    return run.sharding.reduce == spec::ReducePlan::each_microbatch ? run.parallel.data
           : run.sharding.reduce == spec::ReducePlan::by_span       ? run.sharding.gradients
                                                                    : 1;
}

}  // namespace

double add_seconds(const spec::RunSpec& run, double parameters, const Rates& rates) {
    const int first = first_span(run);
    const bool adds = first > 1 && run.tiers.gradients.device == 1;
    const auto micro_batches = static_cast<double>(run.train.micro_batches);
    const auto bytes = parameters / first * static_cast<double>(spec::element_bytes(run.precision.gradient));
    // The first micro-batch of a step writes its sums without an addition.
    return adds ? 2 * bytes / rates.of(spec::SweepKind::sum, true) * (micro_batches - 1) / micro_batches : 0;
}

DataAxisSeconds data_axis_seconds(const spec::RunSpec& run,
                                  double parameters,
                                  double leases,
                                  const Rates& rates) {
    const auto& sharding = run.sharding;
    const int data = run.parallel.data;
    if (data == 1) {
        return {};
    }
    const auto micro_batches = static_cast<double>(run.train.micro_batches);
    const auto accumulated_bytes = spec::element_bytes(run.precision.gradient);
    const auto compute_bytes = spec::element_bytes(run.precision.compute);
    const int first = first_span(run);
    GroupSeconds sums{run, parameters, rates};
    sums.add(OpKind::reduce_scatter, first, data, accumulated_bytes, 1);
    sums.add(OpKind::all_gather, sharding.optimizer, data, accumulated_bytes, 1);
    auto last_sums = sums;
    last_sums.add(OpKind::reduce_scatter, 1, first, micro_batch_gradient_bytes, 1);
    sums.add(OpKind::reduce_scatter, 1, first, micro_batch_gradient_bytes, micro_batches);
    GroupSeconds publication{run, parameters, rates};
    publication.add(OpKind::all_gather, sharding.parameters, sharding.optimizer, compute_bytes, 1);
    // A pass gathers sharded parameters again unless they stay gathered for the step.
    const bool gathers_each = sharding.leases == spec::LeaseSpan::pass && sharding.secondary == 0;
    auto all = sums;
    const auto passes = run.train.is_by_layer() ? 1 : micro_batches;
    all.add(OpKind::all_gather, 1, sharding.parameters, compute_bytes, gathers_each ? leases * passes : 1);
    all.add(OpKind::all_gather, sharding.parameters, sharding.optimizer, compute_bytes, 1);
    return {.step = std::max(all.max(), sums.max() + publication.max()),
            .end = last_sums.max() + publication.max()};
}

}  // namespace ziggurat::plan
