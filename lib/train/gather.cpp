#include "train/gather.hpp"

#include <numeric>

#include "comm/check_mpi.hpp"

namespace ziggurat::train {
namespace {

enum class Receivers { rank_0, all };

std::vector<std::string> collect(const comm::Communicator& ranks,
                                 const std::string& mine,
                                 Receivers receivers) {
    const auto num_ranks = static_cast<std::size_t>(ranks.size());
    const int length = comm::mpi_count(static_cast<std::int64_t>(mine.size()));
    std::vector<int> lengths(num_ranks);
    ZG_MPI(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, ranks.native()));
    std::vector<int> begins(num_ranks);
    const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    static_cast<void>(comm::mpi_count(total));  // all ranks see the same total, so all stop here or none
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::string all(static_cast<std::size_t>(total), ' ');
    if (receivers == Receivers::all) {
        ZG_MPI(MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(),
                              MPI_CHAR, ranks.native()));
    } else {
        ZG_MPI(MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR,
                           0, ranks.native()));
        if (ranks.rank() != 0) {
            return {};
        }
    }
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        texts.push_back(
            all.substr(static_cast<std::size_t>(begins[rank]), static_cast<std::size_t>(lengths[rank])));
    }
    return texts;
}

}  // namespace

std::vector<std::string> gather_texts(const comm::Communicator& ranks, const std::string& mine) {
    return collect(ranks, mine, Receivers::rank_0);
}

std::vector<std::string> share_texts(const comm::Communicator& ranks, const std::string& mine) {
    return collect(ranks, mine, Receivers::all);
}

std::string broadcast_text(const comm::Communicator& ranks, const std::string& text) {
    std::int64_t length = static_cast<std::int64_t>(text.size());
    ZG_MPI(MPI_Bcast(&length, 1, MPI_INT64_T, 0, ranks.native()));
    std::string copy = text;
    copy.resize(static_cast<std::size_t>(length));
    ZG_MPI(MPI_Bcast(copy.data(), comm::mpi_count(length), MPI_CHAR, 0, ranks.native()));
    return copy;
}

}  // namespace ziggurat::train
