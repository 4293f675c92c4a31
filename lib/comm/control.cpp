#include "comm/control.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "comm/backoff.hpp"
#include "comm/check_mpi.hpp"
#include "comm/watch/board_exchange.hpp"

namespace ziggurat::comm {
namespace {

/// Wait of a small exchange, for the lifetime of this object.
class Wait {
  public:
    Wait(const Context& group, const char* what) noexcept : waits_{group.waits()}, what_{what} {}
    ~Wait() { waits_.end_wait(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    void goes_on() const {
        waits_.publish(what_);
        waits_.make_progress();
    }

  private:
    WaitContext waits_;
    const char* what_;
};

/// Completes `request` without a blocking MPI_Wait.
///
/// A rank whose peers have died must still be notified.
void finish(MPI_Request request, const Wait& wait) {
    Backoff idle;
    for (;;) {
        int done = 0;
        ZG_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done) {
            return;
        }
        wait.goes_on();
        idle.idle();
    }
}

/// Makes MPI progress pending messages of running calls.
///
/// They progress only inside MPI calls, and a peer may have to receive one before it can reach this exchange.
void make_mpi_progress(const Context& group) {
    int is_present = 0;
    ZG_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, group.group().native(), &is_present, MPI_STATUS_IGNORE));
}

/// \param fold  combines the result so far with the word of the next rank
template <class Word, class Fold>
void all_reduce_on_board(const Context& group, std::span<Word> words, const Fold& fold, const Wait& wait) {
    static_assert(sizeof(Word) == sizeof(std::uint64_t));
    std::array<std::uint64_t, ExchangeSlot::max_words> mine{};
    std::ranges::transform(words, mine.begin(), [](Word word) { return std::bit_cast<std::uint64_t>(word); });
    BoardExchange& board = *group.board();
    board.post(std::span{mine}.first(words.size()));
    while (!board.is_complete()) {
        wait.goes_on();
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
void all_reduce(const Context& group, std::span<Word> words, MPI_Datatype type, MPI_Op op, const Fold& fold) {
    const Wait wait{group, "a small all-reduce"};
    if (group.board() != nullptr && words.size() <= ExchangeSlot::max_words) {
        return all_reduce_on_board(group, words, fold, wait);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, words.data(), mpi_count(std::ssize(words)), type, op,
                          group.group().native(), &request));
    finish(request, wait);
}

/// Sum that wraps around for signed words, as the unsigned limbs do.
constexpr auto wrapping_sum = [](auto a, auto b) {
    return static_cast<decltype(a)>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
};
constexpr auto maximum = [](auto a, auto b) { return std::max(a, b); };

}  // namespace

bool all_agree(const Context& group, bool mine) {
    std::int64_t refusals = mine ? 0 : 1;
    all_reduce_max(group, std::span{&refusals, 1});
    return refusals == 0;
}

void all_reduce_sum(const Context& group, std::span<std::int64_t> words) {
    all_reduce(group, words, MPI_INT64_T, MPI_SUM, wrapping_sum);
}

void all_reduce_sum(const Context& group, std::span<std::uint64_t> words) {
    all_reduce(group, words, MPI_UINT64_T, MPI_SUM, wrapping_sum);
}

void all_reduce_max(const Context& group, std::span<std::int64_t> words) {
    all_reduce(group, words, MPI_INT64_T, MPI_MAX, maximum);
}

void all_reduce_max(const Context& group, std::span<double> words) {
    all_reduce(group, words, MPI_DOUBLE, MPI_MAX, maximum);
}

std::string broadcast(const Context& group, const std::string& text, int root) {
    const Wait wait{group, "a text from another rank"};
    MPI_Request request = MPI_REQUEST_NULL;
    std::int64_t length = std::ssize(text);
    ZG_MPI(MPI_Ibcast(&length, 1, MPI_INT64_T, root, group.group().native(), &request));
    finish(request, wait);
    std::string result = group.rank() == root ? text : std::string(length, '\0');
    ZG_MPI(MPI_Ibcast(result.data(), mpi_count(length), MPI_CHAR, root, group.group().native(), &request));
    finish(request, wait);
    return result;
}

std::vector<std::string> gather(const Context& group, const std::string& text) {
    const Wait wait{group, "texts of all ranks"};
    MPI_Request request = MPI_REQUEST_NULL;
    const int length = mpi_count(std::ssize(text));
    const bool is_root = group.rank() == 0;
    const std::size_t ranks = is_root ? static_cast<std::size_t>(group.size()) : 0;
    std::vector<int> lengths(ranks);
    ZG_MPI(MPI_Igather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, group.group().native(), &request));
    finish(request, wait);
    std::vector<int> offsets(ranks);
    std::int64_t total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        offsets[r] = mpi_count(total);
        total += lengths[r];
    }
    std::string all(total, '\0');
    ZG_MPI(MPI_Igatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
                        0, group.group().native(), &request));
    finish(request, wait);
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < ranks; ++r) {
        texts.push_back(all.substr(offsets[r], lengths[r]));
    }
    return texts;
}

std::string first_text(const Context& group, const std::string& text) {
    const auto texts = gather(group, text);
    const auto first = std::ranges::find_if(texts, [](const auto& each) { return !each.empty(); });
    return broadcast(group, first == texts.end() ? "" : *first);
}

std::vector<double> gather(const Context& group, std::span<const double> values) {
    const Wait wait{group, "numbers of all ranks"};
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = mpi_count(std::ssize(values));
    std::vector<double> all(group.rank() == 0 ? values.size() * group.size() : 0);
    ZG_MPI(MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0,
                       group.group().native(), &request));
    finish(request, wait);
    return all;
}

void barrier(const Context& group) {
    const Wait wait{group, "a barrier"};
    if (group.board() != nullptr) {
        return all_reduce_on_board(group, std::span<std::int64_t>{}, maximum, wait);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Ibarrier(group.group().native(), &request));
    finish(request, wait);
}

}  // namespace ziggurat::comm
