/// The rate at which threads read memory. It limits the forward of one token, which reads every weight.
///
///   read_bench [threads]     one JSON line; the best of several rounds over 1 GiB
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    constexpr std::int64_t words = std::int64_t{1} << 27;
    constexpr int lanes = 32;
    std::vector<std::uint64_t> memory(words, 1);
    double best = 0;
    std::uint64_t sum = 0;
    for (int round = 0; round < 6; ++round) {
        const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
        for (std::int64_t block = 0; block < words; block += lanes) {
            std::uint64_t lane[lanes];  // independent sums, so that no addition waits for another
            for (int i = 0; i < lanes; ++i) {
                lane[i] = memory[block + i] ^ memory[block];
            }
            for (int i = 0; i < lanes; ++i) {
                sum += lane[i];
            }
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::max(best, static_cast<double>(words) * 8 / took.count());
    }
    std::printf("{\"measurement\": \"read\", \"threads\": %d, \"bytes_per_second\": %.4g, \"sum\": %llu}\n",
                threads, best, static_cast<unsigned long long>(sum));
    return 0;
}
