#include "comm/control.hpp"

#include <algorithm>

#include "comm/abort_flag.hpp"
#include "comm/check_mpi.hpp"
#include "comm/idle_wait.hpp"

namespace ziggurat::comm {
namespace {

/// Never a bare MPI_Wait: a rank whose peers are gone must still hear that the run is being aborted.
void finish(MPI_Request request, const char* what, const AbortFlag* abort) {
    IdleWait idle;
    for (;;) {
        int done = 0;
        ZG_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done) {
            return;
        }
        if (abort != nullptr) {
            abort->check(what);
        }
        idle.idle();
    }
}

template <class Word>
void all_reduce(
    const Communicator& group, std::span<Word> words, MPI_Datatype type, MPI_Op op, const AbortFlag* abort) {
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, words.data(), mpi_count(std::ssize(words)), type, op, group.native(),
                          &request));
    finish(request, "a control all-reduce", abort);
}

}  // namespace

bool all_agree(const Communicator& group, bool mine, const AbortFlag* abort) {
    std::int64_t refusals = mine ? 0 : 1;
    all_reduce_max(group, std::span{&refusals, 1}, abort);
    return refusals == 0;
}

void all_reduce_sum(const Communicator& group, std::span<std::int64_t> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_INT64_T, MPI_SUM, abort);
}

void all_reduce_sum(const Communicator& group, std::span<std::uint64_t> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_UINT64_T, MPI_SUM, abort);
}

void all_reduce_max(const Communicator& group, std::span<std::int64_t> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_INT64_T, MPI_MAX, abort);
}

void all_reduce_max(const Communicator& group, std::span<double> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_DOUBLE, MPI_MAX, abort);
}

std::string broadcast(const Communicator& group, const std::string& text, int root) {
    std::int64_t length = std::ssize(text);
    ZG_MPI(MPI_Bcast(&length, 1, MPI_INT64_T, root, group.native()));
    std::string result = group.rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
    ZG_MPI(MPI_Bcast(result.data(), mpi_count(length), MPI_CHAR, root, group.native()));
    return result;
}

std::vector<std::string> gather(const Communicator& group, const std::string& text) {
    const int length = mpi_count(std::ssize(text));
    const bool is_root = group.rank() == 0;
    const std::size_t ranks = is_root ? static_cast<std::size_t>(group.size()) : 0;
    std::vector<int> lengths(ranks);
    ZG_MPI(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, group.native()));
    std::vector<int> offsets(ranks);
    std::int64_t total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        offsets[r] = mpi_count(total);
        total += lengths[r];
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    ZG_MPI(MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
                       group.native()));
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < ranks; ++r) {
        texts.push_back(
            all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
    }
    return texts;
}

std::vector<double> gather(const Communicator& group, std::span<const double> values) {
    const int count = mpi_count(std::ssize(values));
    std::vector<double> all(group.rank() == 0 ? values.size() * static_cast<std::size_t>(group.size()) : 0);
    ZG_MPI(MPI_Gather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, group.native()));
    return all;
}

void barrier(const Communicator& group, const AbortFlag* abort) {
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Ibarrier(group.native(), &request));
    finish(request, "a barrier", abort);
}

}  // namespace ziggurat::comm
