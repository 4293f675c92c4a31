/// One call of HierarchicalCollectives; included only by hierarchical_collectives.cpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/hierarchical/hierarchical_gathering.hpp"
#include "comm/hierarchical/hierarchical_reduction.hpp"
#include "comm/hierarchical/hierarchical_task.hpp"
#include "comm/mpi/message_streams.hpp"

namespace ziggurat::comm {

/// State of a call on this member: its messages, its sums, and its reads of neighbours' memory.
class HierarchicalExchange {
  public:
    HierarchicalExchange(HierarchicalTask task, MPI_Comm comm);
    HierarchicalExchange(const HierarchicalExchange&) = delete;
    HierarchicalExchange& operator=(const HierarchicalExchange&) = delete;

    const CollectiveCall& call() const noexcept { return task_.call; }
    bool is_running() const noexcept { return is_running_; }
    std::int64_t bytes_moved() const noexcept { return bytes_moved_; }

    std::int64_t staging_bytes() const noexcept { return sums_ ? sums_->staging_bytes() : 0; }
    bool wants_staging() const noexcept { return sums_ && !sums_->has_staging(); }
    /// Sets the staging memory for the pieces of partial sums.
    void stage_at(std::byte* area) { sums_->stage_at(area); }

    void start();
    /// Makes progress as far as possible without waiting.
    ///
    /// \param may_read_inputs  all neighbours have started the call
    void progress(bool may_read_inputs);
    /// True after the last read of neighbours' inputs.
    bool has_read_inputs() const noexcept;

    int num_rounds() const noexcept { return gathering_ ? gathering_->num_rounds() : 0; }
    int rounds_ready() const { return gathering_ ? gathering_->rounds_ready() : 0; }
    int rounds_pulled() const noexcept { return gathering_ ? gathering_->rounds_pulled() : 0; }
    bool can_pull() const { return gathering_->can_pull(); }
    void pull_round() { bytes_moved_ += gathering_->pull_round(); }

    /// True if the outputs are complete.
    bool has_result() const noexcept;
    /// True if all messages are sent and received, and all reads of others' memory are done.
    bool is_complete() const noexcept { return has_result() && has_read_inputs() && streams_.is_complete(); }
    /// Marks the call as ended: the others no longer read this member's memory.
    void end() noexcept { is_running_ = false; }

  private:
    struct Copy {
        const std::byte* from = nullptr;
        std::byte* to = nullptr;
        std::int64_t bytes = 0;
    };

    class PartMaker;  // adds the messages, sums and reads of each kind of call

    bool pull_inputs();

    HierarchicalTask task_;
    MessageStreams streams_;
    std::optional<HierarchicalReduction> sums_;
    std::optional<HierarchicalGathering> gathering_;
    Copy own_copy_;
    std::vector<Copy> input_pulls_;
    std::size_t inputs_pulled_ = 0;
    bool is_running_ = false;
    std::int64_t bytes_moved_ = 0;
};

}  // namespace ziggurat::comm
