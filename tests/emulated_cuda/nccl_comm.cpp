/// Communicators of the emulated NCCL: creation, submission of operations to streams, errors, and end.
///
/// All are non-blocking: each call may still be in progress when it returns; until it is complete, other
/// calls are rejected.
#include "tests/emulated_cuda/nccl_comm.hpp"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/loading.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/emulated_cuda/streams.hpp"

using namespace emulated_cuda;  // these are functions of no namespace

namespace {

thread_local std::string last_text;

std::set<ncclComm_t>& all_comms() {
    static auto* const comms = new std::set<ncclComm_t>;
    return *comms;
}

int random_below(int max) {
    static std::mt19937_64 random{settings().seed + static_cast<std::uint64_t>(getpid())};
    return static_cast<int>(random() % static_cast<unsigned>(max));
}

/// Returns the failure of a communicator if it has one, else its state: ready or in progress.
ncclResult_t state_of(ncclComm& comm) {
    if (!comm.has_started && comm.state->failure() == ncclSuccess && comm.state->have_all_come()) {
        comm.has_started = true;
    }
    if (comm.state->failure() == ncclSuccess && comm.pending && --comm.asked_until_given <= 0) {
        std::exchange(comm.pending, {})();
    }
    if (comm.state->failure() != ncclSuccess) {
        last_text = comm.state->what();
        return comm.state->failure();
    }
    return !comm.has_started || comm.pending ? ncclInProgress : ncclSuccess;
}

}  // namespace

namespace emulated_cuda {

ncclResult_t refuse_call(ncclComm_t comm, ncclResult_t result, const std::string& what) {
    last_text = what;
    std::fprintf(stderr, "emulated NCCL: %s\n", what.c_str());
    if (comm != nullptr && all_comms().contains(comm)) {
        comm->state->fail(result, what);
    }
    return result;
}

ncclResult_t before_operation(ncclComm_t comm) {
    if (!all_comms().contains(comm)) {
        return refuse_call(nullptr, ncclInvalidArgument, "this is no communicator");
    }
    if (comm->state->failure() != ncclSuccess) {
        return comm->state->failure();
    }
    if (!comm->has_started || comm->pending) {
        return refuse_call(comm, ncclInvalidArgument,
                           "a communicator is used before its last call has come to an end");
    }
    return ncclSuccess;
}

namespace {

constexpr int multiprocessors = 132;  // as an H100
constexpr int usual_blocks = 32;      // of a communicator with the default config

/// Communicators of this process with operations in flight, and the blocks of their kernels.
///
/// Kernels of all of them must fit on a GPU together. Otherwise ranks that start them in different orders
/// would deadlock.
class BlocksInFlight {
  public:
    /// Returns the blocks in use with one more operation of `comm`. If they fit, the operation is in
    /// flight.
    int begin(const CommState* comm, int device, int blocks) {
        const std::lock_guard lock{mutex_};
        int sum = blocks;
        for (const auto& [other, of] : comms_) {
            sum += other != comm && of.device == device ? of.blocks : 0;
        }
        if (sum <= multiprocessors) {
            auto& mine = comms_[comm];
            mine = {device, blocks, mine.operations + 1};
        }
        return sum;
    }
    void end(const CommState* comm) {
        const std::lock_guard lock{mutex_};
        const auto mine = comms_.find(comm);
        if (mine != comms_.end() && --mine->second.operations == 0) {
            comms_.erase(mine);
        }
    }
    void forget(const CommState* comm) {
        const std::lock_guard lock{mutex_};
        comms_.erase(comm);
    }

  private:
    struct Of {
        int device = 0, blocks = 0, operations = 0;
    };
    std::mutex mutex_;
    std::map<const CommState*, Of> comms_;
};

BlocksInFlight& in_flight() {
    static BlocksInFlight blocks;
    return blocks;
}

}  // namespace

ncclResult_t submit(ncclComm_t comm, cudaStream_t stream, Exchange exchange) {
    if (!is_stream(stream) || stream->device != comm->state->device()) {
        return refuse_call(comm, ncclInvalidArgument, "no stream of the communicator's GPU");
    }
    const auto failure = before_work(stream->device);
    if (failure.error != cudaSuccess) {
        return refuse_call(comm, ncclUnhandledCudaError, failure.what);
    }
    if (is_to_fail(Fault::nccl)) {
        comm->state->fail(ncclSystemError, "as asked for");
        return ncclInProgress;
    }
    set_collectives(true);
    const auto* const key = comm->state.get();
    if (const int all = in_flight().begin(key, stream->device, comm->blocks); all > multiprocessors) {
        return refuse_call(comm, ncclInvalidUsage,
                           "operations of several communicators that may take " + std::to_string(all) +
                               " blocks at once, of a GPU's " + std::to_string(multiprocessors));
    }
    auto report_error = [stream, key, exchange = std::make_shared<Exchange>(std::move(exchange))]() mutable {
        push_outside(stream, [key, mine = std::move(exchange)] {
            const bool is_over = mine->advance();
            if (is_over) {
                in_flight().end(key);
            }
            return is_over;
        });
    };
    constexpr int max_asked = 4;
    comm->asked_until_given = random_below(max_asked);
    if (comm->asked_until_given == 0) {
        report_error();
        return ncclSuccess;
    }
    comm->pending = std::move(report_error);
    return ncclInProgress;
}

}  // namespace emulated_cuda

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    std::string error;
    const auto region = MappedRegion::make(*id, error);
    return region == nullptr ? refuse_call(nullptr, ncclSystemError, error) : ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
    *comm = nullptr;
    if (config == nullptr || config->magic != 0xcafebeef || config->size != sizeof *config) {
        return refuse_call(nullptr, ncclInvalidArgument, "a config that was not initialized");
    }
    if (config->blocking != 0) {
        return refuse_call(nullptr, ncclInvalidUsage, "a communicator that blocks, which nobody wants");
    }
    if (ranks < 1 || ranks > max_ranks || rank < 0 || rank >= ranks) {
        return refuse_call(nullptr, ncclInvalidArgument,
                           "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
    }
    if (is_to_fail(Fault::nccl_start)) {
        return refuse_call(nullptr, ncclSystemError, "as asked for");
    }
    count(Counted::communicators);
    const int blocks = config->maxCTAs == NCCL_CONFIG_UNDEF_INT ? usual_blocks : config->maxCTAs;
    std::string error;
    auto region = MappedRegion::open(id, error);
    if (region == nullptr) {
        return refuse_call(nullptr, ncclRemoteError, error);
    }
    auto& me = (*region)->members[static_cast<std::size_t>(rank)];
    me.process = getpid();
    me.device = settings().first + current_device();
    auto state = std::make_shared<CommState>(std::move(region), ranks, rank, current_device());
    int known = 0;
    if (!state->region().size.compare_exchange_strong(known, ranks) && known != ranks) {
        state->fail(ncclInvalidArgument,
                    "of " + std::to_string(ranks) + " ranks, and of " + std::to_string(known) + " elsewhere");
    }
    me.presence = Presence::here;
    *comm = new ncclComm{.id = id, .state = std::move(state), .blocks = blocks};
    all_comms().insert(*comm);
    return ncclInProgress;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (!all_comms().contains(comm)) {
        return refuse_call(nullptr, ncclInvalidArgument, "this is no communicator");
    }
    in_flight().forget(comm->state.get());
    comm->state->abort();
    if (comm->state->rank() == 0 && comm->state->have_all_come()) {  // a late rank must see the failure
        forget_descriptor(comm->id);
    }
    all_comms().erase(comm);
    set_collectives(!all_comms().empty());
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    if (!all_comms().contains(comm)) {
        return refuse_call(nullptr, ncclInvalidArgument, "this is no communicator");
    }
    *error = state_of(*comm);
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "no error";
        case ncclUnhandledCudaError:
            return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case ncclSystemError:
            return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case ncclInternalError:
            return "internal error - please report this issue to the NCCL developers";
        case ncclInvalidArgument:
            return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case ncclInvalidUsage:
            return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case ncclRemoteError:
            return "remote process exited or there was a network error";
        case ncclInProgress:
            return "NCCL operation in progress";
    }
    return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
    return last_text.c_str();
}
