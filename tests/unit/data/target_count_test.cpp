#include "data/pack/target_count.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "data/pack/open_arranged.hpp"
#include "tests/unit/data/sample_files.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using Packing = spec::SamplePacking;
using test::ScratchFolder;

/// Tokens that count have the flag, but the first of a sample never counts.
const std::vector<test::TestSample> three_samples{
    {{11, 12, 13}, {1, 0, 1}}, {{21, 22, 23, 24, 25}, {0, 0, 1, 1, 1}}, {{31, 32}, {1, 1}}};

TargetCount count_of(const std::string& path, std::int64_t seq, Packing packing, double held_out = 0) {
    const auto data = test::chat_data(path, seq, packing);
    const auto source = open_arranged(data, data.train.front(), "key", held_out);
    return count_targets(*source, data, held_out).value();
}

/// Megatron-LM's source of documents with given lengths.
class Documents final : public TokenSource {
  public:
    Documents(std::int64_t documents, std::int64_t length) : documents_{documents}, length_{length} {}

    std::int64_t num_tokens() const override { return documents_ * length_; }
    void read(std::int64_t, std::span<std::int32_t> out) const override { std::ranges::fill(out, 1); }
    bool has_document_index() const override { return true; }
    void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override {
        for (std::size_t i = 0; i < starts.size(); ++i) {
            starts[i] = (begin + static_cast<std::int64_t>(i)) % length_ == 0 ? 1 : 0;
        }
    }
    std::string location_of(std::int64_t) const override { return "nowhere"; }

  private:
    std::int64_t documents_, length_;
};

TEST(TargetCount, IsOfPackedSamplesWhatIsLeftOfThem) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    EXPECT_EQ(count_of(folder / "a", 6, Packing::best_fit).trained, 5);
    EXPECT_EQ(count_of(folder / "a", 4, Packing::best_fit).trained, 4) << "one token is cut";
    EXPECT_EQ(count_of(folder / "a", 2, Packing::none).trained, 1);
    EXPECT_EQ(count_of(folder / "a", 1, Packing::best_fit).trained, 0);
    const auto held_out = count_of(folder / "a", 6, Packing::best_fit, 0.34);
    EXPECT_EQ(held_out.trained, 4);
    EXPECT_EQ(held_out.held_out, 1);
    EXPECT_TRUE(held_out.is_exact);
}

TEST(TargetCount, IsOfAStreamThatOfItsWholeSequences) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", three_samples);
    EXPECT_EQ(count_of(folder / "a", 3, Packing::wrapped).trained, 5) << "targets 1 to 9";
    EXPECT_EQ(count_of(folder / "a", 5, Packing::wrapped).trained, 2) << "targets 1 to 5";
    EXPECT_EQ(count_of(folder / "a", 1, Packing::wrapped).trained, 5) << "the stream has tokens before them";
}

TEST(TargetCount, IsZeroWithoutFlags) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", {{{1, 2, 3}, {1, 0, 0}}, {{4, 5}, {1, 0}}});
    for (const auto packing : {Packing::best_fit, Packing::none, Packing::wrapped}) {
        EXPECT_EQ(count_of(folder / "a", 3, packing).trained, 0);
    }
}

TEST(TargetCount, IsOfDocumentsWhetherAnyHasATarget) {
    spec::Data data;
    data.seq = 2;
    data.reset_at_document = true;
    EXPECT_EQ(count_targets(Documents{100, 1}, data, 0)->trained, 0);
    const auto halves = count_targets(Documents{100, 2}, data, 0.5);
    EXPECT_EQ(halves->trained, 1);
    EXPECT_EQ(halves->held_out, 1);
    EXPECT_FALSE(halves->is_exact);
    data.reset_at_document = false;
    EXPECT_FALSE(count_targets(Documents{100, 1}, data, 0)) << "every token is a target";
}

}  // namespace
}  // namespace ziggurat::data
