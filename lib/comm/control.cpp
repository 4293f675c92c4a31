#include "comm/control.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "comm/abort_flag.hpp"
#include "comm/background.hpp"
#include "comm/check_mpi.hpp"
#include "comm/idle_wait.hpp"
#include "comm/watch/board_exchange.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {
namespace {

/// While this rank waits: publishes for what, hears that the run is being aborted, and goes on with what it
/// has begun.
class Patience {
  public:
    Patience(const Communicator& group, const char* what, const AbortFlag* abort) noexcept
        : liveness_{group.liveness()}, background_{group.background()}, what_{what}, abort_{abort} {}
    ~Patience() {
        if (liveness_ != nullptr) {
            liveness_->moves();
        }
    }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

    void goes_on() const {
        if (liveness_ != nullptr) {
            liveness_->waits_for(what_);
        }
        if (abort_ != nullptr) {
            abort_->check(what_);
        }
        if (background_ != nullptr) {
            background_->advance();
        }
    }

  private:
    Liveness* liveness_;
    Background* background_;
    const char* what_;
    const AbortFlag* abort_;
};

/// Never a bare MPI_Wait: a rank whose peers are gone must still hear of it.
void finish(MPI_Request request, const Patience& patience) {
    IdleWait idle;
    for (;;) {
        int done = 0;
        ZG_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done) {
            return;
        }
        patience.goes_on();
        idle.idle();
    }
}

/// Messages of calls that are still under way move on only while MPI is called, and a peer may have to
/// receive one before it can come here.
void make_mpi_progress(const Communicator& group) {
    int is_there = 0;
    ZG_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, group.native(), &is_there, MPI_STATUS_IGNORE));
}

/// \param fold  adds a rank's word to what was folded so far
template <class Word, class Fold>
void all_reduce_on_board(const Communicator& group,
                         std::span<Word> words,
                         const Fold& fold,
                         const Patience& patience) {
    static_assert(sizeof(Word) == sizeof(std::uint64_t));
    std::array<std::uint64_t, BoardSeat::max_words> mine{};
    std::ranges::transform(words, mine.begin(), [](Word word) { return std::bit_cast<std::uint64_t>(word); });
    BoardExchange& board = *group.board_exchange();
    board.post(std::span{mine}.first(words.size()));
    while (!board.is_complete()) {
        patience.goes_on();
        make_mpi_progress(group);
        board.idle();
    }
    for (int rank = 0; rank < board.num_ranks(); ++rank) {
        const auto theirs = board.words_of(rank);
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto word = std::bit_cast<Word>(theirs[i]);
            words[i] = rank == 0 ? word : fold(words[i], word);
        }
    }
}

template <class Word, class Fold>
void all_reduce(const Communicator& group,
                std::span<Word> words,
                MPI_Datatype type,
                MPI_Op op,
                const Fold& fold,
                const AbortFlag* abort) {
    const Patience patience{group, "a small all-reduce", abort};
    if (group.board_exchange() != nullptr && words.size() <= BoardSeat::max_words) {
        return all_reduce_on_board(group, words, fold, patience);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, words.data(), mpi_count(std::ssize(words)), type, op, group.native(),
                          &request));
    finish(request, patience);
}

/// Signed sums wrap around like the unsigned words that limbs are.
constexpr auto wrapping_sum = [](auto a, auto b) {
    return static_cast<decltype(a)>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
};
constexpr auto maximum = [](auto a, auto b) { return std::max(a, b); };

}  // namespace

bool all_agree(const Communicator& group, bool mine, const AbortFlag* abort) {
    std::int64_t refusals = mine ? 0 : 1;
    all_reduce_max(group, std::span{&refusals, 1}, abort);
    return refusals == 0;
}

void all_reduce_sum(const Communicator& group, std::span<std::int64_t> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_INT64_T, MPI_SUM, wrapping_sum, abort);
}

void all_reduce_sum(const Communicator& group, std::span<std::uint64_t> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_UINT64_T, MPI_SUM, wrapping_sum, abort);
}

void all_reduce_max(const Communicator& group, std::span<std::int64_t> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_INT64_T, MPI_MAX, maximum, abort);
}

void all_reduce_max(const Communicator& group, std::span<double> words, const AbortFlag* abort) {
    all_reduce(group, words, MPI_DOUBLE, MPI_MAX, maximum, abort);
}

std::string broadcast(const Communicator& group, const std::string& text, int root) {
    const Patience patience{group, "a text from another rank", nullptr};
    MPI_Request request = MPI_REQUEST_NULL;
    std::int64_t length = std::ssize(text);
    ZG_MPI(MPI_Ibcast(&length, 1, MPI_INT64_T, root, group.native(), &request));
    finish(request, patience);
    std::string result = group.rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
    ZG_MPI(MPI_Ibcast(result.data(), mpi_count(length), MPI_CHAR, root, group.native(), &request));
    finish(request, patience);
    return result;
}

std::vector<std::string> gather(const Communicator& group, const std::string& text) {
    const Patience patience{group, "texts of all ranks", nullptr};
    MPI_Request request = MPI_REQUEST_NULL;
    const int length = mpi_count(std::ssize(text));
    const bool is_root = group.rank() == 0;
    const std::size_t ranks = is_root ? static_cast<std::size_t>(group.size()) : 0;
    std::vector<int> lengths(ranks);
    ZG_MPI(MPI_Igather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, group.native(), &request));
    finish(request, patience);
    std::vector<int> offsets(ranks);
    std::int64_t total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        offsets[r] = mpi_count(total);
        total += lengths[r];
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    ZG_MPI(MPI_Igatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
                        0, group.native(), &request));
    finish(request, patience);
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < ranks; ++r) {
        texts.push_back(
            all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
    }
    return texts;
}

std::string first_text(const Communicator& group, const std::string& text) {
    const auto texts = gather(group, text);
    const auto first = std::ranges::find_if(texts, [](const auto& each) { return !each.empty(); });
    return broadcast(group, first == texts.end() ? "" : *first);
}

std::vector<double> gather(const Communicator& group, std::span<const double> values) {
    const Patience patience{group, "numbers of all ranks", nullptr};
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = mpi_count(std::ssize(values));
    std::vector<double> all(group.rank() == 0 ? values.size() * static_cast<std::size_t>(group.size()) : 0);
    ZG_MPI(MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, group.native(),
                       &request));
    finish(request, patience);
    return all;
}

void barrier(const Communicator& group, const AbortFlag* abort) {
    const Patience patience{group, "a barrier", abort};
    if (group.board_exchange() != nullptr) {
        return all_reduce_on_board(group, std::span<std::int64_t>{}, maximum, patience);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Ibarrier(group.native(), &request));
    finish(request, patience);
}

}  // namespace ziggurat::comm
