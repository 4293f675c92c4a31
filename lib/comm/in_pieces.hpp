/// in_pieces: splits long work on one vector among a rank's threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ziggurat::comm {

/// Runs work(begin, end) over [0, total) in parts that begin at multiples of `piece`.
template <class Work>
void in_pieces(int threads, std::int64_t total, std::int64_t piece, const Work& work) {
    const std::int64_t pieces = (total + piece - 1) / piece;
    if (threads == 1 || pieces < 2) {
        work(std::int64_t{0}, total);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t p = 0; p < pieces; ++p) {
        work(p * piece, std::min(total, (p + 1) * piece));
    }
}

}  // namespace ziggurat::comm
